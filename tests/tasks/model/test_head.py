import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tasks.model.head import Kernel, Projection, Scaling, flatten_regions
from tests.tasks.model.making import DIMENSION, random, tiny_projection


def biased_projection() -> Projection:
    """As after some training."""
    head = tiny_projection()
    head.bias_D.data = random(DIMENSION, seed=4)
    return head


def test_one_region_is_shifted_projected_and_scaled_to_unit_length() -> None:
    head, descriptor_BRC = biased_projection(), random(5, 1, 8)
    for image, embedding_D in zip(descriptor_BRC[:, 0], head(*flatten_regions(descriptor_BRC)), strict=True):
        projected_D = (image - head.shift_C) @ head.linear_CD + head.bias_D
        torch.testing.assert_close(embedding_D, projected_D / projected_D.norm())


def test_regions_weigh_alike_whatever_their_length() -> None:
    head, descriptor_BRC = tiny_projection(), random(3, 4, 8)
    stretched_BRC = head.shift_C + (descriptor_BRC - head.shift_C) * torch.tensor([1.0, 3.0, 0.2, 7.0])[:, None]
    torch.testing.assert_close(head(*flatten_regions(stretched_BRC)), head(*flatten_regions(descriptor_BRC)))


def test_several_regions_are_summed() -> None:
    head, descriptor_BRC = biased_projection(), random(5, 3, 8)
    for regions_RC, embedding_D in zip(descriptor_BRC, head(*flatten_regions(descriptor_BRC)), strict=True):
        projected_RD = (regions_RC - head.shift_C) @ head.linear_CD + head.bias_D
        summed_D = sum(projected_D / projected_D.norm() for projected_D in projected_RD)
        torch.testing.assert_close(embedding_D, summed_D / summed_D.norm())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_images_with_unlike_numbers_of_regions_are_as_if_alone(counts: list[int]) -> None:
    head = tiny_projection()
    images = [random(1, regions, 8, seed=seed) for seed, regions in enumerate(counts)]
    alone_BD = torch.cat([head(*flatten_regions(image)) for image in images])
    owner_S = torch.repeat_interleave(torch.tensor(counts))
    together_BD = head(torch.cat([image[0] for image in images]), owner_S, len(counts))
    torch.testing.assert_close(together_BD, alone_BD)
    torch.testing.assert_close(together_BD.norm(dim=1), torch.ones(len(counts)))


def test_a_scaling_sums_shifted_and_scaled_regions() -> None:
    head, descriptor_BRC = Scaling(random(8, seed=5), random(8, seed=6)), random(5, 3, 8)
    assert head.dimension == 8
    for regions_RC, embedding_C in zip(descriptor_BRC, head(*flatten_regions(descriptor_BRC)), strict=True):
        summed_C = ((regions_RC - head.shift_C) * head.scale_C).sum(0)
        torch.testing.assert_close(embedding_C, summed_C / summed_C.norm())


def test_half_precision_descriptors_are_projected_in_single() -> None:
    descriptor_SC, owner_S, images = flatten_regions(random(2, 3, 8))
    embedding_BD = tiny_projection()(descriptor_SC.half(), owner_S, images)
    assert embedding_BD.dtype == torch.float32
    assert embedding_BD.shape == (2, DIMENSION)


def test_a_descriptor_at_the_shift_gives_finite_values_and_gradients() -> None:
    head = tiny_projection()
    embedding_BD = head(head.shift_C.detach()[None], torch.tensor([0]), 1)
    embedding_BD.sum().backward()
    assert embedding_BD.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters())


def test_the_head_owns_its_parameters() -> None:
    head = tiny_projection()
    shift_C, linear_CD = head.shift_C.detach().clone(), head.linear_CD.detach().clone()
    copy = type(head)(shift_C, linear_CD)
    shift_C.zero_()
    assert (copy.shift_C == head.shift_C).all()


def tiny_kernel(landmarks: int = 5) -> Kernel:
    return Kernel(random(8).abs(), random(landmarks, 8, seed=1), random(landmarks, DIMENSION, seed=2))


def test_a_kernel_by_the_formula() -> None:
    head, descriptor_BC = tiny_kernel(), random(3, 8, seed=3)
    for image, embedding_D in zip(descriptor_BC, head(*flatten_regions(descriptor_BC[:, None])), strict=True):
        squared_M = ((image - head.landmark_MC.float()) * head.scale_C).square().sum(1)
        target_T = (-squared_M).exp() @ head.weight_MT
        certainty = (0.35 * target_T.norm().log()).clamp(-0.5, 0.5)
        expected_D = torch.cat([certainty[None], target_T / target_T.norm()])
        torch.testing.assert_close(embedding_D, expected_D / expected_D.norm(), rtol=1e-4, atol=1e-5)


def test_an_image_of_usual_length_has_no_certainty_and_shorter_ones_have_less() -> None:
    head, descriptor_BC = tiny_kernel(), random(7, 8, seed=3)
    length_B = head.predict(descriptor_BC).norm(dim=1)
    head.calibrate(descriptor_BC)
    torch.testing.assert_close(head.usual_length, length_B.log().mean().exp())
    certainty_B = head(descriptor_BC, torch.arange(7), 7)[:, 0]
    assert ((certainty_B > 0) == (length_B > head.usual_length)).all()
    assert (certainty_B[length_B.argsort()].diff() >= -1e-6).all()
    head.calibrate(descriptor_BC[:1])
    torch.testing.assert_close(head(descriptor_BC[:1], torch.zeros(1), 1)[0, 0], torch.tensor(0.0), atol=1e-6, rtol=0)


def test_an_image_far_from_every_landmark_has_a_place_of_least_certainty() -> None:
    head = tiny_kernel()
    embedding_BD = head(torch.full((1, 8), 1e3), torch.zeros(1), 1)
    torch.testing.assert_close(embedding_BD, torch.eye(1 + DIMENSION)[:1] * -1)


def test_a_landmark_has_the_certainty_and_the_spread_of_an_unseen_image() -> None:
    head = tiny_kernel()
    descriptor_BC = torch.cat([head.landmark_MC.float() + 1e-4, random(2, 8, seed=3)])
    as_fitted_BD = head(descriptor_BC, torch.arange(7), 7)
    head.unseen_length_M.copy_(torch.tensor([1.0, 0.7, 1.3, torch.nan, 1.1]))
    head.unseen_scale_T.copy_(torch.linspace(2, 0.5, DIMENSION))
    embedding_BD = head(descriptor_BC, torch.arange(7), 7)
    certainty_M = (embedding_BD[:, 0] / embedding_BD[:, 1:].norm(dim=1))[:5]
    expected_M = 0.35 * head.unseen_length_M.log()
    known_M = torch.tensor([True, True, True, False, True])
    torch.testing.assert_close(certainty_M[known_M], expected_M[known_M], atol=1e-4, rtol=0)
    torch.testing.assert_close(embedding_BD[~torch.tensor([*known_M, False, False])], as_fitted_BD[[3, 5, 6]])
    directions = [
        value_BD / value_BD.norm(dim=1, keepdim=True)
        for value_BD in (embedding_BD[:5, 1:], as_fitted_BD[:5, 1:] * head.unseen_scale_T)
    ]
    torch.testing.assert_close(*(value_BD[known_M] for value_BD in directions), atol=1e-4, rtol=0)


def test_a_kernel_takes_one_descriptor_an_image() -> None:
    with pytest.raises(ValueError, match="one descriptor per image"):
        tiny_kernel()(*flatten_regions(random(3, 2, 8)))


def test_landmarks_are_scaled_once_also_after_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 20,000 landmarks, scaling them took over a second of each query."""
    head, other, descriptor_BC = tiny_kernel(), tiny_kernel(), random(3, 8, seed=3)
    other.scale_C.mul_(2)
    head.load_state_dict(other.state_dict())
    kept = {"scale_C", "landmark_MC", "weight_MT", "usual_length", "unseen_length_M", "unseen_scale_T"}
    assert head.state_dict().keys() == kept
    squared_BM = ((descriptor_BC[:, None] - head.landmark_MC.float()) * other.scale_C).square().sum(2)
    monkeypatch.setattr(head, "landmark_MC", None)
    torch.testing.assert_close(head.predict(descriptor_BC), (-squared_BM).exp() @ head.weight_MT)
    assert head.to("meta").scaled_MC.device.type == "meta"


def test_gradients_pass_through_a_kernel() -> None:
    descriptor_BC = random(2, 8).requires_grad_()
    tiny_kernel()(descriptor_BC, torch.arange(2), 2)[:, 0].sum().backward()
    assert descriptor_BC.grad is not None
    assert descriptor_BC.grad.isfinite().all()
    assert descriptor_BC.grad.abs().sum() > 0
