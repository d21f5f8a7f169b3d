from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.model.head import Projection
from tasks.training.config import TripletConfig
from tasks.training.embedders import Embed, through_text
from tasks.training.losses import L_V, TERMS, Modality
from tasks.training.mining import Relevance
from tasks.training.text_embedding import TextEmbedding
from tasks.training.triplet_loop import Learner, TrainingState, train_triplets
from tests.tasks.model.making import random

IMAGES, GROUPS = 40, 4
SMALL = TripletConfig(
    queries=20,
    relevant=3,
    hardest=20,
    margin=0.2,
    batch=16,
    updates=8,
    refreshes=6,
    patience=12,
    learning_rate=0.05,
)
OWN_GROUP = np.array(
    [[row for row in range(IMAGES) if row % GROUPS == own % GROUPS and row != own] for own in range(IMAGES)]
)
RELEVANCE = Relevance(OWN_GROUP, np.arange(IMAGES))
TFIDF = csr_array(np.eye(GROUPS, dtype=np.float32)[np.arange(IMAGES) % GROUPS])


def descriptors() -> Tensor:
    """The group of an image, under noise that is of no use."""
    return torch.cat([torch.eye(GROUPS).repeat(IMAGES // GROUPS, 1), 0.3 * random(IMAGES, 6)], dim=1)


def new_head() -> Projection:
    return Projection(torch.zeros(10), random(10, 4, seed=5))


def embedder(head: Projection, descriptor_NC: Tensor | None = None) -> Callable[[np.ndarray], Tensor]:
    of_NC = descriptors() if descriptor_NC is None else descriptor_NC
    return lambda rows: head(of_NC[torch.from_numpy(rows)], torch.arange(len(rows)), len(rows))


def separation(head: Projection) -> float:
    """How much nearer the images of one group are than those of two."""
    with torch.no_grad():
        score_NN = embedder(head)(np.arange(IMAGES)) @ embedder(head)(np.arange(IMAGES)).T
    group_N = torch.arange(IMAGES) % GROUPS
    same_NN = group_N[:, None] == group_N
    return float(score_NN[same_NN].mean() - score_NN[~same_NN].mean())


def train(head: Projection, config: TripletConfig = SMALL, seed: int = 0, **options: object) -> TrainingState:
    arguments = {"validate": lambda: separation(head), **options}
    return train_embedded(head, embedder(head), RELEVANCE, config, seed=seed, **arguments)


def train_embedded(
    head: Projection, embed: Callable[[np.ndarray], Tensor], relevance: Relevance, config: TripletConfig, **options: Any
) -> TrainingState:
    return train_triplets(Learner(head, (L_V,), {"image": embed}), relevance, config, **options)


def same(head: Projection, other: Projection) -> bool:
    return all(torch.equal(a, b) for a, b in zip(head.parameters(), other.parameters(), strict=True))


def test_training_lowers_the_loss_and_raises_validation() -> None:
    head, told = new_head(), {}
    before = separation(head)
    progress = train(head, log=lambda metrics, step: told.update({step: metrics}))
    assert list(told) == [1, 2, 3, 4, 5, 6]
    assert told[6]["loss"] < 0.3 * told[1]["loss"]
    assert separation(head) > before + 0.3
    assert separation(head) == pytest.approx(progress.best_score)
    assert progress.best_score == max(metrics["validation_ndcg_auc"] for metrics in told.values())


def test_what_is_logged_is_finite_and_named() -> None:
    told: list[dict[str, float]] = []
    names = (
        "queries pool_images active_share spread collapsed learning_rate images_per_second validation_ndcg_auc loss "
        "images_per_triplet"
    )
    train(new_head(), log=lambda metrics, _: told.append(metrics))
    for metrics in told:
        assert metrics.keys() == {*names.split()}
        assert all(np.isfinite(value) for value in metrics.values())
        assert 0 < metrics["active_share"] <= 1
        assert 0 <= metrics["spread"] <= 1


def test_the_same_seed_gives_the_same_weights() -> None:
    first, again, other = new_head(), new_head(), new_head()
    for head, seed in [(first, 1), (again, 1), (other, 2)]:
        train(head, seed=seed)
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.parametrize("interrupted_at", [1, 4])
def test_a_resumed_run_ends_as_an_uninterrupted_one(interrupted_at: int, tmp_path: Path) -> None:
    whole, broken, resumed = new_head(), new_head(), new_head()
    train(whole)
    steps: list[int] = []

    def interrupt(_: dict[str, float], step: int) -> None:
        if step == interrupted_at + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(broken, log=interrupt, checkpoint=tmp_path / "checkpoint.pt")
    on_step: list[int] = []
    progress = train(
        resumed,
        log=lambda _, step: steps.append(step),
        on_step=on_step.append,
        checkpoint=tmp_path / "checkpoint.pt",
    )
    assert steps == list(range(interrupted_at + 1, 7))
    assert sum(on_step) == progress.refresh == 6
    assert same(whole, resumed)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_finished_run_that_is_resumed_does_nothing_more(tmp_path: Path) -> None:
    head, again = new_head(), new_head()
    first = train(head, checkpoint=tmp_path / "checkpoint.pt")
    second = train(again, checkpoint=tmp_path / "checkpoint.pt", log=lambda *_: pytest.fail("trained on"))
    assert same(head, again)
    assert (first.refresh, first.updates) == (second.refresh, second.updates)


def test_a_checkpoint_holds_whatever_kind_of_number_validation_gives(tmp_path: Path) -> None:
    for refreshes in (1, 2):
        head = new_head()
        progress = train(
            head,
            SMALL.model_copy(update={"refreshes": refreshes}),
            validate=lambda head=head: np.float64(separation(head)),
            checkpoint=tmp_path / "checkpoint.pt",
        )
        assert progress.refresh == refreshes


def test_the_best_weights_are_kept_and_patience_ends_the_run() -> None:
    scores = iter([0.5, 0.6, 0.9, 0.8, float("nan"), 0.7, 1.0])
    head, seen = new_head(), []

    def validate() -> float:
        seen.append(head.linear_CD.detach().clone())
        return next(scores)

    progress = train(head, SMALL.model_copy(update={"patience": 3, "refreshes": 50}), validate=validate)
    assert (progress.refresh, progress.best_refresh, progress.best_score) == (5, 2, 0.9)
    assert torch.equal(head.linear_CD, seen[2])


def state(*best_scores: float, best_refresh: int = 0) -> TrainingState:
    """After as many refreshes as there are scores beyond the first."""
    return TrainingState(list(best_scores), {}, best_refresh=best_refresh, refresh=len(best_scores) - 1)


HOPELESS = SMALL.model_copy(update={"patience": 4, "refreshes": 12})


@pytest.mark.parametrize(
    ("best_scores", "beat", "reason"),
    [
        ((30, 31, 32, 33, 34), 43, "its score of 34.0 cannot reach the 43 of the best candidate"),
        ((30, 31, 32, 33, 34), 42, None),  # 34 now, and 1 more in each of 8 refreshes
        ((30, 31, 32, 33, 34), None, None),
        ((30, 31, 32, 33), 99, None),  # too early to say
        ((30, 40, 41, 41, 41, 41), 44, "its score of 41.0 cannot reach the 44 of the best candidate"),
    ],
)
def test_a_training_that_cannot_reach_the_score_to_beat_is_hopeless(
    best_scores: tuple[float, ...], beat: float | None, reason: str | None
) -> None:
    """The gain of the last `patience` refreshes is extrapolated to the end."""
    assert state(*best_scores, best_refresh=len(best_scores) - 2).stop_reason(HOPELESS, beat) == reason


def test_the_reason_to_stop_is_the_collapse_or_the_lack_of_improvement() -> None:
    stuck = state(*[30.0] * 5)
    assert stuck.stop_reason(HOPELESS) == "no improvement for 4 refreshes"
    stuck.collapsed = True
    assert stuck.stop_reason(HOPELESS) == "training collapsed"
    assert state(*[30.0] * 13).stop_reason(HOPELESS, beat=99) is None  # it was done anyway


def test_a_hopeless_training_stops_and_keeps_its_best_weights(tmp_path: Path) -> None:
    config = SMALL.model_copy(update={"patience": 3, "refreshes": 50})
    heads = [new_head() for _ in range(2)]
    states = [train(head, config, beat=100.0, checkpoint=tmp_path / "checkpoint.pt") for head in heads]
    assert {state.refresh for state in states} == {3}
    assert same(*heads)
    assert separation(heads[0]) == pytest.approx(states[0].best_score)
    assert train(new_head(), config.model_copy(update={"refreshes": 6}), beat=separation(heads[0]) / 2).refresh == 6


def test_weights_that_never_improve_are_the_ones_it_began_with() -> None:
    scores = iter([0.5, 0.4, 0.3, 0.2])
    head = new_head()
    train(head, SMALL.model_copy(update={"refreshes": 3}), validate=lambda: next(scores))
    assert same(head, new_head())


def test_only_parameters_that_require_gradients_change() -> None:
    head = new_head()
    head.bias_D.requires_grad_(False)
    train(head)
    assert (head.bias_D == 0).all()
    assert not torch.equal(head.linear_CD, new_head().linear_CD)


def test_the_learning_rate_is_lowered_after_its_updates() -> None:
    rates: list[float] = []
    config = SMALL.model_copy(update={"lower_after": 16, "lower_by": 0.5})
    train(new_head(), config, log=lambda metrics, _: rates.append(metrics["learning_rate"]))
    assert rates == [0.05, 0.05, 0.025, 0.025, 0.025, 0.025]


def test_refreshes_without_a_triplet_are_counted() -> None:
    head, told = new_head(), []
    head.linear_CD.data = torch.cat([5 * torch.eye(4), 0.001 * random(6, 4)])
    calls = iter(range(100))

    def embed(rows: np.ndarray) -> Tensor:
        """The first pool is embedded badly, later ones well enough for there to be nothing to learn."""
        parts = embedder(head)(rows)
        return parts.roll(1, 0) if next(calls) == 0 else parts

    validated: list[float] = []

    def validate() -> float:
        validated.append(separation(head))
        return validated[-1]

    progress = train_embedded(
        head,
        embed,
        RELEVANCE,
        SMALL,
        seed=0,
        validate=validate,
        log=lambda *args: told.append(args),
    )
    assert progress.skipped == 5
    assert len(validated) == 2  # at the start and after the only updates
    assert len({metrics["validation_ndcg_auc"] for metrics, _ in told}) == 1
    assert ["loss" in metrics for metrics, _ in told] == [True, False, False, False, False, False]


@pytest.mark.parametrize(
    "relevance",
    [
        Relevance(np.full((IMAGES, 3), -1), np.arange(IMAGES)),
        Relevance(OWN_GROUP, np.zeros(IMAGES, int)),
    ],
    ids=["no image has a relevant one", "all are copies of one another"],
)
def test_without_any_triplet_one_sentence_says_so(relevance: Relevance) -> None:
    head = new_head()
    with pytest.raises(InputError, match="No triplet could be mined"):
        train_embedded(head, embedder(head), relevance, SMALL, seed=0, validate=lambda: 0.0)


@pytest.mark.parametrize("from_update", [0, 20])
def test_a_loss_that_is_not_finite_stops_training(from_update: int) -> None:
    head = new_head()

    def embed(rows: np.ndarray) -> Tensor:
        return embedder(head)(rows)

    def spoil(_: int) -> None:
        if separations[0] >= from_update // SMALL.updates:
            head.linear_CD.data[0, 0] = float("nan")
        separations[0] += 1

    separations = [0]
    with pytest.raises(
        FloatingPointError,
        match=r"the loss is nan at update \d+, in a batch with image \d+, .* and \d+ more\.",
    ):
        train_embedded(head, embed, RELEVANCE, SMALL, seed=0, validate=lambda: 0.0, on_step=spoil)


def test_the_images_that_break_the_loss_are_named() -> None:
    head = new_head()

    def embed(rows: np.ndarray) -> Tensor:
        embedding_BD = embedder(head)(rows)
        return torch.where(torch.from_numpy(rows == 7)[:, None] & embedding_BD.requires_grad, torch.nan, embedding_BD)

    with pytest.raises(FloatingPointError, match=r"stopped: the loss is nan at update \d+, in a batch with seven\."):
        train_embedded(head, embed, RELEVANCE, SMALL, seed=0, validate=lambda: 0.0, name_of={7: "seven"}.__getitem__)


def joint(head: Projection) -> Learner:
    text = TextEmbedding(random(GROUPS, 4, seed=8))
    embeds: dict[Modality, Embed] = {"image": embedder(head), "text": through_text(text, TFIDF)}
    return Learner(nn.ModuleList([head, text]), TERMS["vt_v"], embeds, text)


def train_jointly(learner: Learner, head: Projection, config: TripletConfig = SMALL, **options: Any) -> TrainingState:
    return train_triplets(learner, RELEVANCE, config, seed=0, validate=lambda: separation(head), **options)


def test_images_and_words_are_learned_together() -> None:
    head = new_head()
    learner, before = joint(head), separation(head)
    train_jointly(learner, head)
    assert separation(head) > before + 0.3
    with torch.no_grad():
        score_NN = learner.embeds["image"](np.arange(IMAGES)) @ learner.embeds["text"](np.arange(IMAGES)).T
    own_NN = torch.arange(IMAGES)[:, None] % GROUPS == torch.arange(IMAGES) % GROUPS
    assert score_NN[own_NN].mean() > score_NN[~own_NN].mean() + 0.5


def test_words_learn_at_their_own_rate() -> None:
    learner = joint(new_head())
    rates = [group["rate"] for group in learner.optimiser(SMALL).param_groups]
    assert rates == [0.05, 0.5]
    numbers = [sum(each.numel() for each in group["params"]) for group in learner.optimiser(SMALL).param_groups]
    assert numbers == [10 * 4 + 4, GROUPS * 4]


def test_a_resumed_joint_run_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    heads = [new_head() for _ in range(3)]
    learners = [joint(head) for head in heads]
    train_jointly(learners[0], heads[0])

    def interrupt(_: dict[str, float], step: int) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_jointly(learners[1], heads[1], log=interrupt, checkpoint=tmp_path / "checkpoint.pt")
    train_jointly(learners[2], heads[2], checkpoint=tmp_path / "checkpoint.pt")
    whole, resumed = learners[0].model.state_dict(), learners[2].model.state_dict()
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_byte_copies_in_half_precision_stay_finite(dtype: torch.dtype) -> None:
    """P05: every query's relevant image has its very pixels; copies that lie at the shift have length 0."""
    pixels_NC = descriptors().repeat_interleave(2, 0)[:IMAGES]
    head = Projection(pixels_NC[0], random(10, 4, seed=5))
    twins = Relevance(np.arange(IMAGES)[:, None] ^ 1, np.arange(IMAGES))

    def embed(rows: np.ndarray) -> Tensor:
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            return head(pixels_NC[torch.from_numpy(rows)].to(dtype), torch.arange(len(rows)), len(rows))

    train_embedded(head, embed, twins, SMALL, seed=0, validate=lambda: 0.0)
    assert all(parameter.isfinite().all() for parameter in head.parameters())
    with torch.no_grad():
        norm_N = embed(np.arange(2, IMAGES)).norm(dim=1)
    torch.testing.assert_close(norm_N, torch.ones_like(norm_N), atol=1e-2, rtol=0)


def test_a_layer_that_magnifies_makes_no_step_of_the_shift_larger() -> None:
    """As whitening does: images differ by little and the layer makes it much."""
    near_NC = 1 + 0.001 * descriptors()
    head, told = Projection(near_NC.mean(0), 1000 * random(10, 4, seed=5)), []
    train_embedded(
        head,
        embedder(head, near_NC),
        RELEVANCE,
        SMALL,
        seed=0,
        validate=lambda: 0.0,
        log=lambda metrics, _: told.append(metrics["spread"]),
    )
    assert min(told) > 0.5


def test_a_collapse_ends_training_and_is_said() -> None:
    """P06: eight images, a learning rate a thousand times too high, the hardest alone; all become one point."""
    shared = torch.ones(8, 10) + 0.01 * random(8, 10)
    head, told = Projection(torch.zeros(10), random(10, 4, seed=5).abs()), []
    eight = Relevance(np.arange(8)[:, None] ^ 1, np.arange(8))
    config = SMALL.model_copy(update={"learning_rate": 1.0, "hardest": 1, "refreshes": 200, "patience": 200})
    progress = train_embedded(
        head,
        embedder(head, shared),
        eight,
        config,
        seed=0,
        validate=lambda: 0.0,
        log=lambda metrics, _: told.append(metrics),
    )
    assert progress.collapsed
    assert progress.refresh < 200
    assert [metrics["collapsed"] for metrics in told] == [0.0] * (len(told) - 1) + [1.0]
    assert told[-1]["spread"] < 0.01 or told[-1]["loss"] == pytest.approx(config.margin / 2, rel=1e-3)


def test_training_that_goes_well_is_no_collapse() -> None:
    assert not train(new_head()).collapsed


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("images", [8, 7])
def test_two_groups_of_equal_captions_give_finite_losses_at_any_batch_size(batch: int, images: int) -> None:
    """P07: inside a group all captions are equal; batches do not divide the triplets evenly."""
    groups = np.arange(images) % 2
    same = [[row for row in range(images) if groups[row] == groups[own] and row != own] for own in range(images)]
    index_NK = np.array([row[:3] + [-1] * (3 - len(row)) for row in same])
    head, told = new_head(), []
    config = SMALL.model_copy(update={"batch": batch, "queries": images})
    train_embedded(
        head,
        embedder(head),
        Relevance(index_NK, np.arange(images)),
        config,
        seed=0,
        validate=lambda: 0.0,
        log=lambda metrics, _: told.append(metrics),
    )
    assert told
    assert all(np.isfinite(value) for metrics in told for value in metrics.values())
    assert all("images_per_triplet" in metrics for metrics in told if metrics["active_share"] > 0)
