"""Training on another device than the CPU, with torch's meta device in the place of a GPU."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy.sparse import csr_array

from tasks.captions.tfidf import tfidf_table
from tasks.errors import InputError
from tasks.features.descriptors import Descriptors, descriptor_column, descriptors_from
from tasks.model.config import PoolingConfig
from tasks.model.head import Head
from tasks.model.scene_model import SceneModel
from tasks.training.candidate import LoadedData, memory_errors
from tasks.training.config import TripletConfig, TripletMethod
from tasks.training.triplet_stage import initial_model, new_learner
from tests.tasks.model.making import CHANNELS, TinyBackbone, random, tiny_config

IMAGES = 12
META = torch.device("meta")


class FakeData:
    """The data of a few images with two regions each."""

    run = SimpleNamespace(runtime=SimpleNamespace(batch_size=4, workers=1), reader=lambda _table: lambda _path: b"")

    def __init__(self) -> None:
        tfidf_NV = csr_array(np.abs(random(IMAGES, 5).numpy()))
        self.tfidf_table = tfidf_table([str(row) for row in range(IMAGES)], tfidf_NV)

    def train_descriptors(self, _pooling: PoolingConfig) -> Descriptors:
        column = descriptor_column(random(IMAGES, 2, CHANNELS))
        return descriptors_from(pa.chunked_array([column]), range(IMAGES), CHANNELS)

    validation_descriptors = train_descriptors

    def train_images(self) -> pa.Table:
        return pa.table({"path": [str(row) for row in range(IMAGES)], "sha256": [str(row) for row in range(IMAGES)]})

    validation_images = train_images

    def new_model(self, method: str, pooling: PoolingConfig, head: Head, finetuned: bool) -> SceneModel:
        config = tiny_config(pooling)
        networks = (config.networks[0].model_copy(update={"finetuned": finetuned}),)
        settings = {"method": method, "networks": networks, "dimension": head.dimension}
        return SceneModel(config.model_copy(update=settings), [TinyBackbone()], head)


@pytest.mark.parametrize("method", ["v_v", "vt_v", "wsabie"])
@pytest.mark.parametrize("backbone", ["frozen", "finetuned"])
def test_all_that_is_trained_is_on_the_device(method: TripletMethod, backbone: Any) -> None:
    config = TripletConfig(dimension=4, backbone=backbone)
    loaded = cast(LoadedData, FakeData())
    model = initial_model(loaded, method, config, seed=0)
    learner, _ = new_learner(loaded, model, config, META)
    assert {parameter.device for parameter in learner.model.parameters()} == {META}
    assert {buffer.device for buffer in model.head.buffers()} == {META}
    assert ("text" in learner.embeds) == (learner.text is not None) == (method != "v_v")


def test_images_and_words_are_embedded_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "autocast", lambda *_args, **_kwargs: nullcontext())  # it does not know meta
    config = TripletConfig(dimension=4)
    loaded = cast(LoadedData, FakeData())
    learner, _ = new_learner(loaded, initial_model(loaded, "vt_v", config, seed=0), config, META)
    rows = np.arange(3)
    assert {embed(rows).device for embed in learner.embeds.values()} == {META}


def test_too_little_memory_is_one_sentence_with_the_remedy() -> None:
    sentence = r"out of memory on cuda; lower runtime\.batch_size \(now 32\) or set runtime\.device=cpu"
    with pytest.raises(InputError, match=sentence), memory_errors(torch.device("cuda"), "runtime.batch_size", 32):
        raise torch.OutOfMemoryError
