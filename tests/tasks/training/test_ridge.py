from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch._subclasses.fake_tensor import FakeTensorMode

from tasks.model.head import Kernel, Projection
from tasks.training import ridge
from tasks.training.config import RegressionConfig
from tasks.training.ridge import KernelRidge, best_of, caption_space, kernel_ridge, linear_heads
from tests.tasks.evaluation.test_jackknife import population
from tests.tasks.model.making import random, tiny_projection

PENALTIES = (0.1, 1.0, 10.0)


def target(images: int = 60, dimension: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(images, dimension))


def fitted(descriptor_NC: torch.Tensor, target_NT: np.ndarray) -> list[Projection]:
    return [head for _, head in linear_heads(descriptor_NC, target_NT, PENALTIES)]


def captions() -> csr_array:
    value_NV = np.random.default_rng(1).random((40, 12)) ** 6
    return csr_array(value_NV / np.linalg.norm(value_NV, axis=1, keepdims=True))


@pytest.mark.parametrize("images", [60, 5])
def test_each_head_solves_the_ridge_of_targets_on_scaled_descriptors(images: int) -> None:
    descriptor_NC, target_NT = random(images, 8) + 3, target(images)
    centred_NC = descriptor_NC.double().numpy() - descriptor_NC.double().numpy().mean(0)
    unit = np.sqrt((centred_NC**2).sum(1).mean())
    scaled_NC = centred_NC / unit
    for penalty, head in zip(PENALTIES, fitted(descriptor_NC, target_NT), strict=True):
        gram_CC = scaled_NC.T @ scaled_NC + penalty * np.eye(8)
        expected_CD = np.linalg.solve(gram_CC, scaled_NC.T @ target_NT) / unit
        np.testing.assert_allclose(head.linear_CD.detach(), expected_CD, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(head.shift_C.detach(), descriptor_NC.numpy().mean(0), rtol=1e-5)


def test_a_penalty_means_the_same_whatever_the_descriptors_unit() -> None:
    for small, large in zip(fitted(random(60, 8), target()), fitted(1000 * random(60, 8), target()), strict=True):
        torch.testing.assert_close(large.linear_CD * 1000, small.linear_CD, rtol=1e-4, atol=1e-6)


def test_the_best_penalty_stays_and_the_first_of_equals() -> None:
    scores = iter([1.0, 3.0, 3.0])
    fit = best_of(linear_heads(random(60, 8), target(), PENALTIES), lambda _: next(scores))
    assert fit.penalty == 1.0
    assert fit.scores == {0.1: 1.0, 1.0: 3.0, 10.0: 3.0}
    assert isinstance(fit.head, Projection)
    torch.testing.assert_close(fit.head.linear_CD, fitted(random(60, 8), target())[1].linear_CD)


@pytest.mark.parametrize(
    ("scores", "tried", "chosen"),
    [
        ([5.0, 4.0, 3.0, 2.0, 1.0], 3, 0),
        ([3.0, 4.0, 5.0, 4.0, 4.5, 6.0], 5, 2),
        ([5.0, 4.0, 6.0, 5.0, 7.0], 5, 4),
        ([1.0, 1.0, 1.0, 1.0], 4, 0),
        ([1.0], 1, 0),
    ],
)
def test_penalties_past_the_best_are_not_tried(scores: list[float], tried: int, chosen: int) -> None:
    """Two that are worse than the best end it: at 20,000 images each costs minutes."""
    heads = ((float(number), tiny_projection()) for number in range(len(scores)))
    values = iter(scores)
    fit = best_of(heads, lambda _: next(values))
    assert (len(fit.scores), fit.penalty) == (tried, chosen)


def test_a_linear_relation_is_found() -> None:
    descriptor_NC = random(200, 8)
    target_NT = ((descriptor_NC - descriptor_NC.mean(0)) @ random(8, 3, seed=1)).numpy()
    ((_, head),) = linear_heads(descriptor_NC, target_NT, [1e-6])
    embedding_ND = head(descriptor_NC, torch.arange(200), 200).detach().numpy()
    np.testing.assert_allclose(embedding_ND, target_NT / np.linalg.norm(target_NT, axis=1, keepdims=True), atol=1e-3)


def test_descriptors_that_are_all_alike_give_a_finite_head() -> None:
    for head in fitted(torch.ones(60, 8), target()):
        assert head.linear_CD.isfinite().all()


BLOCKS = (5, 3)


def kernels(images: int, landmarks: int | None) -> list[Kernel]:
    descriptor_NC, target_NT = random(images, 8).half().float(), target(images)
    options = {"block_channels": BLOCKS, "bandwidth": 0.7, "landmarks": landmarks, "seed": 0}
    return [head for _, head in kernel_ridge(descriptor_NC, target_NT, **options).heads(PENALTIES)]


def slow_kernel(x_NC: np.ndarray, y_MC: np.ndarray, train_NC: np.ndarray, bandwidth: float = 0.7) -> np.ndarray:
    """exp(−b/2 · Σ over both blocks of the squared distance over the block's mean squared distance to its mean)."""
    squared_NM = np.zeros((len(x_NC), len(y_MC)))
    for part in (slice(0, 5), slice(5, 8)):
        spread = ((train_NC[:, part] - train_NC[:, part].mean(0)) ** 2).sum(1).mean()
        squared_NM += ((x_NC[:, None, part] - y_MC[None, :, part]) ** 2).sum(2) / spread
    return np.exp(-bandwidth * squared_NM / 2)


def unit(value_ND: np.ndarray) -> np.ndarray:
    array_ND = np.asarray(value_ND)  # tensors too
    return array_ND / np.linalg.norm(array_ND, axis=1, keepdims=True)


def test_the_kernel_solves_the_ridge_of_targets() -> None:
    train_NC, query_BC = random(60, 8).half().double().numpy(), random(7, 8, seed=5)
    kernel_NN = slow_kernel(train_NC, train_NC, train_NC)
    for penalty, head in zip(PENALTIES, kernels(60, landmarks=None), strict=True):
        weight_ND = np.linalg.solve(kernel_NN + penalty * np.eye(60), target())
        expected_BD = unit(slow_kernel(query_BC.double().numpy(), train_NC, train_NC) @ weight_ND)
        np.testing.assert_allclose(unit(head(query_BC, torch.arange(7), 7)[:, 1:]), expected_BD, atol=1e-4)


def test_landmarks_solve_the_normal_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ridge, "BLOCK", 7)
    train_NC, query_BC = random(60, 8).half().double().numpy(), random(7, 8, seed=5)
    for penalty, head in zip(PENALTIES, kernels(60, landmarks=20), strict=True):
        landmark_MC = head.landmark_MC.double().numpy()
        assert len({tuple(row) for row in landmark_MC} & {tuple(row) for row in train_NC}) == 20
        kernel_NM = slow_kernel(train_NC, landmark_MC, train_NC)
        kernel_MM = slow_kernel(landmark_MC, landmark_MC, train_NC)
        weight_MT = np.linalg.solve(kernel_NM.T @ kernel_NM + penalty * kernel_MM, kernel_NM.T @ target())
        expected_BD = unit(slow_kernel(query_BC.double().numpy(), landmark_MC, train_NC) @ weight_MT)
        np.testing.assert_allclose(unit(head(query_BC, torch.arange(7), 7)[:, 1:]), expected_BD, atol=1e-3)


def ridge_of(images: int, landmarks: int | None) -> KernelRidge:
    descriptor_NC = random(images, 8).half().float()
    options = {"block_channels": BLOCKS, "bandwidth": 0.7, "landmarks": landmarks, "seed": 0}
    return kernel_ridge(descriptor_NC, target(images), **options)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_prediction_of_an_unseen_image_is_that_of_a_fit_without_it(penalty: float) -> None:
    train_NC = random(30, 8).half().double().numpy()
    kernel_NN = slow_kernel(train_NC, train_NC, train_NC)
    whole = ridge_of(30, landmarks=None)
    ((_, head),) = whole.heads([penalty])
    fitted_NT, unseen_NT = whole.predictions(penalty, head)
    np.testing.assert_allclose(fitted_NT, kernel_NN @ head.weight_MT.numpy(), atol=1e-3)
    for image, unseen_T in enumerate(unseen_NT.numpy()):
        others = np.delete(np.arange(30), image)
        system_OO = kernel_NN[np.ix_(others, others)] + penalty * np.eye(29)
        weight_OT = np.linalg.solve(system_OO, target(30)[others])
        np.testing.assert_allclose(unseen_T, kernel_NN[image, others] @ weight_OT, atol=1e-3)


def test_with_landmarks_too() -> None:
    """The landmarks stay where they are; only the image's target is left out of the fit."""
    train_NC = random(60, 8).half().double().numpy()
    whole = ridge_of(60, landmarks=20)
    ((_, head),) = whole.heads([1.0])
    landmark_MC = head.landmark_MC.double().numpy()
    kernel_NM, kernel_MM = slow_kernel(train_NC, landmark_MC, train_NC), slow_kernel(landmark_MC, landmark_MC, train_NC)
    rows = [int(np.flatnonzero((train_NC == row).all(1))[0]) for row in landmark_MC]
    for row, unseen_T in zip(rows, whole.predictions(1.0, head)[1].numpy(), strict=True):
        others = np.delete(np.arange(60), row)
        left_MM = kernel_NM[others].T @ kernel_NM[others] + kernel_MM
        weight_MT = np.linalg.solve(left_MM, kernel_NM[others].T @ target(60)[others])
        np.testing.assert_allclose(unseen_T, kernel_NM[row] @ weight_MT, atol=1e-2)


def test_the_blocks_of_an_inverse_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ridge_of(30, landmarks=None)
    ((_, head),) = whole.heads([1.0])
    expected = whole.predictions(1.0, head)
    monkeypatch.setattr(ridge, "BLOCK", 7)
    torch.testing.assert_close(whole.predictions(1.0, head), expected)


def test_train_and_unseen_images_are_treated_alike() -> None:
    """By the fit itself, words found train images alone, and images too few of them."""
    tfidf_NV, features_NC, _ = population(600)
    descriptor_NC = torch.from_numpy(features_NC).half().float()
    target_NT = caption_space(csr_array(tfidf_NV[:200]), 30, seed=0).target_NT
    options = {"block_channels": (25, 15), "bandwidth": 0.7, "landmarks": None, "seed": 0}
    fit = kernel_ridge(descriptor_NC[:200], target_NT, **options)
    ((_, head),) = fit.heads([0.1])
    head.calibrate(descriptor_NC[200:])

    def measure() -> tuple[float, float, float]:
        """Return the median certainty of train and of unseen images, and the share of train images in results."""
        train_ND, unseen_ND, query_ND = (head(part, torch.arange(200), 200) for part in descriptor_NC.split(200))
        first_QK = (query_ND @ torch.cat([train_ND, unseen_ND]).T).topk(10).indices
        return float(train_ND[:, 0].median()), float(unseen_ND[:, 0].median()), float((first_QK < 200).float().mean())

    before, unseen, share_before = measure()
    fitted_NT, unseen_NT = (each_NT / each_NT.norm(dim=1, keepdim=True) for each_NT in fit.predictions(0.1, head))
    fit.treat_as_unseen(0.1, head)
    after, still, share = measure()
    assert before > unseen + 0.1
    assert after == pytest.approx(unseen, abs=0.03)
    assert still == unseen
    expected_T = (unseen_NT.square().mean(0) / fitted_NT.square().mean(0)) ** 0.75
    torch.testing.assert_close(head.unseen_scale_T.double(), expected_T, rtol=1e-4, atol=0)
    assert head.unseen_scale_T[:5].mean() > 1 > head.unseen_scale_T[-5:].mean()
    assert share_before + 0.03 < share < 0.5


@pytest.mark.parametrize("landmarks", [None, 20])
def test_a_device_computes_the_kernel_and_the_cpu_what_does_not_fit(
    landmarks: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*tensors: torch.Tensor) -> torch.Tensor:
        if tensors[0].device.type == "meta":
            raise torch.OutOfMemoryError
        return gaussian(*tensors)

    options = {"block_channels": BLOCKS, "bandwidth": 0.7, "landmarks": landmarks, "seed": 0}
    expected = kernel_ridge(random(60, 8), target(), **options)
    with FakeTensorMode():
        found = ridge._compute_on(torch.device("cuda"), ridge.gaussian, torch.empty(3, 8), torch.empty(5, 8))
        assert (found.shape, found.device.type) == ((3, 5), "cpu")
    gaussian = ridge.gaussian
    monkeypatch.setattr(ridge, "gaussian", full)
    monkeypatch.setattr(torch, "mm", lambda one, other: full(one) if one.device.type == "meta" else one @ other)
    found_ridge = kernel_ridge(random(60, 8), target(), **options, device=torch.device("meta"))
    assert torch.equal(found_ridge.kernel_MM, expected.kernel_MM)
    assert torch.equal(found_ridge.right_MT, expected.right_MT)


def test_the_same_seed_gives_the_same_landmarks() -> None:
    for one, other in zip(kernels(60, 20), kernels(60, 20), strict=True):
        assert torch.equal(one.landmark_MC, other.landmark_MC)
        assert torch.equal(one.weight_MT, other.weight_MT)


def test_descriptors_that_are_all_alike_give_a_finite_kernel() -> None:
    for landmarks in (None, 20):
        options = {"block_channels": BLOCKS, "bandwidth": 1.0, "landmarks": landmarks, "seed": 0}
        for _, head in kernel_ridge(torch.ones(60, 8), target(), **options).heads(PENALTIES):
            assert head(torch.ones(2, 8), torch.arange(2), 2).isfinite().all()


def test_targets_keep_the_similarities_of_the_captions() -> None:
    target_NT = caption_space(captions(), 12, seed=0).target_NT
    value_NV = captions().toarray()
    centred_NV = value_NV - value_NV.mean(0)
    np.testing.assert_allclose(target_NT @ target_NT.T, centred_NV @ centred_NV.T, atol=1e-9)


def test_targets_are_centred_and_as_many_as_there_can_be() -> None:
    for dimension, kept in [(3, 3), (12, 12), (500, 12)]:
        target_NT = caption_space(captions(), dimension, seed=0).target_NT
        assert target_NT.shape == (40, kept)
        np.testing.assert_allclose(target_NT.mean(0), 0, atol=1e-12)


def test_the_leading_targets_are_those_of_the_decomposition() -> None:
    left_NV, scale_V, _ = np.linalg.svd(captions().toarray(), full_matrices=False)
    expected_ND = (left_NV * scale_V)[:, :4]
    expected_ND = expected_ND - expected_ND.mean(0)
    target_NT = caption_space(captions(), 4, seed=0).target_NT
    for found_N, expected_N in zip(target_NT.T, expected_ND.T, strict=True):
        np.testing.assert_allclose(found_N * np.sign(found_N @ expected_N), expected_N, atol=1e-6)
    assert all(a >= b for a, b in pairwise(scale_V))


def test_the_same_seed_gives_the_same_targets() -> None:
    one, other = (caption_space(captions(), 4, seed=1) for _ in range(2))
    np.testing.assert_array_equal(one.target_NT, other.target_NT)
    np.testing.assert_array_equal(one.text_VT, other.text_VT)


def test_words_go_by_the_right_singular_vectors_and_the_root_of_their_values() -> None:
    _, scale_V, right_VV = np.linalg.svd(captions().toarray(), full_matrices=False)
    text_VT = caption_space(captions(), 4, seed=0).text_VT
    np.testing.assert_allclose(text_VT.T @ text_VT, np.diag(scale_V[:4] / scale_V[0]), atol=1e-6)
    projected_VD = right_VV[:4].T @ (right_VV[:4] @ text_VT)  # it lies in their span
    np.testing.assert_allclose(projected_VD, text_VT, atol=1e-6)


@pytest.mark.parametrize(
    ("images", "memory", "landmarks"),
    [
        (20_000, 16e9, None),
        (20_001, 16e9, 8192),
        (100_000, 1e12, 8192),
        (500, 16e9, None),
        (20_000, 8e9, 8192),
        (17_000, 8e9, None),
        (8000, 1e9, 4096),
        (8000, 1.8e9, None),
        (20_000, 1e9, 4096),
        (8192, 0, 256),
        (200, 0, None),
    ],
)
def test_many_images_or_little_memory_take_landmarks(images: int, memory: float, landmarks: int | None) -> None:
    config = RegressionConfig()
    assert config.landmarks_of(images, memory) == landmarks
    assert config.within(images, memory).landmarks_of(images) == landmarks


@pytest.mark.parametrize(
    ("images", "memory", "other"),
    [(6000, 8.000e9, 8.004e9), (6000, 1e9, 1e12), (30_000, 8e9, 1e12), (20_000, 8.000e9, 8.004e9), (8000, 1e9, 1.1e9)],
)
def test_memory_that_makes_no_difference_changes_no_setting(images: int, memory: float, other: float) -> None:
    """Another machine with a little more memory must not train again."""
    assert RegressionConfig().within(images, memory) == RegressionConfig().within(images, other)
    assert RegressionConfig(kernel="linear").within(images, 0) == RegressionConfig(kernel="linear")


def test_settings_that_a_linear_kernel_ignores_make_no_difference() -> None:
    linear = RegressionConfig(kernel="linear", bandwidth=0.1, exact=5, landmarks=7)
    assert linear == RegressionConfig(kernel="linear")
    assert RegressionConfig(bandwidth=0.1) != RegressionConfig()


@pytest.mark.parametrize("landmarks", [None, 20])
def test_penalties_rise_however_they_are_given(landmarks: int | None) -> None:
    options = {"block_channels": BLOCKS, "bandwidth": 0.7, "landmarks": landmarks, "seed": 0}
    falling = PENALTIES[::-1]
    assert [penalty for penalty, _ in kernel_ridge(random(60, 8), target(), **options).heads(falling)] == [*PENALTIES]
    assert [penalty for penalty, _ in linear_heads(random(60, 8), target(), falling)] == [*PENALTIES]


def test_a_prefix_of_the_dimensions_is_the_smaller_embedding() -> None:
    descriptor_NC = random(60, 8)
    whole, cut = (caption_space(captions(), dimension, seed=0).target_NT for dimension in (12, 4))
    options = {"block_channels": BLOCKS, "bandwidth": 0.7, "landmarks": None, "seed": 0}
    ((_, large),) = kernel_ridge(descriptor_NC[:40], whole, **options).heads([1.0])
    ((_, small),) = kernel_ridge(descriptor_NC[:40], cut, **options).heads([1.0])
    certainty_N1, prefix_NT = np.split(large(descriptor_NC, torch.arange(60), 60)[:, :5].numpy(), [1], axis=1)
    small_NT = small(descriptor_NC, torch.arange(60), 60)[:, 1:].numpy()
    np.testing.assert_allclose(unit(prefix_NT) @ unit(prefix_NT).T, unit(small_NT) @ unit(small_NT).T, atol=1e-4)
    assert certainty_N1.any()
