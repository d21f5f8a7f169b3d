"""Pictures of the shared cases, embedded by the default network with average pooling and no projection."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tasks.embedding.embed import embed_images
from tasks.images.decode import decode
from tasks.images.loader import Refusal
from tasks.model.architectures import create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig
from tasks.model.head import Projection
from tasks.model.scene_model import SceneModel
from tests.shared import case, with_shared

CHANNELS = 1280
pytestmark = with_shared


@pytest.fixture(scope="module")
def model() -> SceneModel:
    config = ModelConfig(
        method="test",
        networks=(NetworkConfig(backbone=BackboneConfig(), preprocessing=preprocessing_of(BackboneConfig())),),
        pooling=PoolingConfig(kind="gap"),
        channels=CHANNELS,
        dimension=CHANNELS,
    )
    return SceneModel(
        config, [create_backbone(BackboneConfig())], Projection(torch.zeros(CHANNELS), torch.eye(CHANNELS))
    ).eval()


def embedded(model: SceneModel, number: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Embeddings of a case's pictures by name, and the reasons of those refused."""
    return embedded_files(model, sorted(path for path in case(number).iterdir() if "json" not in path.suffix), 8)


def embedded_files(
    model: SceneModel, paths: Sequence[Path], batch_size: int
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    names = [path.name for path in paths]
    embeddings, refused = {}, {}
    for batch in embed_images(
        model,
        [str(path) for path in paths],
        lambda path: Path(path).read_bytes(),
        device=torch.device("cpu"),
        batch_size=batch_size,
        workers=2,
    ):
        if isinstance(batch, Refusal):
            refused[names[batch.row]] = batch.reason
        else:
            embeddings |= {names[row]: embedding_D.numpy() for row, embedding_D in zip(*batch, strict=True)}
    assert embeddings.keys() | refused.keys() == set(names)
    return embeddings, refused


def ranked(embeddings: dict[str, np.ndarray], query: str) -> list[tuple[str, float]]:
    """The other pictures by cosine with the query, nearest first."""
    scores = {name: float(embeddings[query] @ embedding_D) for name, embedding_D in embeddings.items() if name != query}
    return sorted(scores.items(), key=lambda scored: -scored[1])


def test_inks_are_found_before_other_scenes(model: SceneModel) -> None:
    embeddings, refused = embedded(model, "F05")
    assert (len(embeddings), refused) == (10, {})
    twins = {"scene_cmyk.jpg", "scene_ycck.jpg", "scene_cmyk_noadobe_inverted.jpg"}
    names = [name for name, _ in ranked(embeddings, "scene_rgb.jpg")]
    first_decoy = next(place for place, name in enumerate(names) if name.startswith("decoy"))
    assert twins <= set(names[:first_decoy])


def test_oriented_pictures_are_one_picture(model: SceneModel) -> None:
    embeddings, refused = embedded(model, "F06")
    assert refused == {}
    upright = {*(f"o{value}.jpg" for value in range(1, 9)), "badtag0.jpg", "badtag9.jpg"}
    nearest = ranked(embeddings, "upright.png")[:10]
    assert {name for name, _ in nearest} == upright
    assert nearest[0][1] - nearest[-1][1] < 0.02
    assert all(decode((case("F06") / name).read_bytes()).size == (160, 120) for name in upright)


def test_what_transparency_hides_has_no_influence(model: SceneModel) -> None:
    embeddings, refused = embedded(model, "F08")
    assert refused == {}
    assert embeddings["rgba_hidden_red.png"] @ embeddings["rgba_hidden_green.png"] > 0.999
    assert embeddings["palette_bytes.png"] @ embeddings["rgba_hidden_red.png"] > 0.95
    assert np.isfinite(embeddings["all_transparent.png"]).all()


def test_moving_pictures_are_found_by_their_first_frame(model: SceneModel) -> None:
    embeddings, refused = embedded(model, "F09")
    assert refused == {}
    moving = {"anim.gif", "anim.webp", "anim_apng.png", "pages.tif", "really_a_gif.jpg"}
    names = [name for name, _ in ranked(embeddings, "still_0.png")]
    assert set(names[: names.index("still_1.png")]) >= moving
    assert set(names[: names.index("still_2.png")]) >= moving
    assert all(decode((case("F09") / name).read_bytes()).size == (128, 96) for name in moving)


def test_extreme_sizes_are_unit_vectors_or_refused_by_name(model: SceneModel) -> None:
    embeddings, refused = embedded(model, "F11")
    assert list(refused) == ["bomb_200MP.png"]
    for embedding_D in embeddings.values():
        assert np.linalg.norm(embedding_D) == pytest.approx(1, abs=1e-3)
    for name in ("strip_128x96.jpg", "strip_96x128.jpg"):
        assert ranked(embeddings, name)[0][0] != "one_pixel.png"


def test_a_vector_does_not_depend_on_its_neighbours_in_a_batch(model: SceneModel) -> None:
    """P16."""
    paths = [path for number in ("F11", "F27") for path in case(number).iterdir() if path.suffix in {".jpg", ".png"}]
    paths = sorted(path for path in paths if "MP" not in path.name)
    alone, refused = embedded_files(model, paths, 1)
    assert (len(alone), refused) == (len(paths), {})
    for batch_size in (3, 8):
        shuffled = [paths[row] for row in np.random.default_rng(batch_size).permutation(len(paths))]
        mixed, _ = embedded_files(model, shuffled, batch_size)
        for name, embedding_D in mixed.items():
            assert float(embedding_D @ alone[name]) > 0.9999
            assert np.abs(embedding_D - alone[name]).max() < 1e-3
