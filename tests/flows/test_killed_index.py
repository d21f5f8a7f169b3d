"""Indexing that is killed at any moment, while someone searches."""

import multiprocessing
import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from scenekin import Searcher
from storage.artifacts import clear_leftovers
from storage.workspace import Workspace
from tests.command import scenekin
from tests.trained import Trained

KILLS = 10
CHANGING = "zz.jpg"
STORES = ("mlflow.store.tracking.sqlalchemy_store", "mlflow.store.model_registry.sqlalchemy_store")


def index(trained: Trained) -> None:
    """`scenekin index`, as a process that is forked runs it; what it says of it goes nowhere."""
    os._exit(trained.run("index", "--name", "copy", "--set", "index.keep=0").code)


class Loop(threading.Thread):
    """Searches on and on; every answer has to be that of one state of the collection, and of no earlier one again.

    In state n the changing image is a copy of the n-th, whose score it has; all else stays.
    """

    def __init__(self, workspace: Path) -> None:
        super().__init__()
        self.searcher = Searcher.open(workspace, "copy")
        self.score = self.answer()
        self.ids = [image_id for image_id in self.score if image_id != CHANGING]
        self.seen: list[float] = []
        self.failures: list[object] = []
        self.ended = threading.Event()

    def answer(self) -> dict[str, float]:
        results = self.searcher.search(image_id=self.searcher.image_ids[0], top=1000)
        assert [result.score for result in results] == sorted((result.score for result in results), reverse=True)
        return {result.image_id: result.score for result in results}

    def run(self) -> None:
        try:
            while not self.ended.wait(0.01):
                self.searcher = self.searcher.current()
                answer = self.answer()
                assert {**self.score, CHANGING: answer[CHANGING]} == answer
                if answer[CHANGING] not in self.seen[-1:]:
                    self.seen.append(answer[CHANGING])
        except BaseException as error:
            self.failures.append(error)


@pytest.fixture
def forks() -> multiprocessing.context.ForkServerContext:
    """Processes that have imported everything when they start, so that they can be killed at work."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["flows.index", "scenekin.cli", "timm", *STORES, "tests.flows.test_killed_index"])
    return context


def test_whoever_searches_while_indexing_is_killed_sees_whole_versions(
    trained_copy: Trained, forks: multiprocessing.context.ForkServerContext
) -> None:
    train = sorted((trained_copy.collection / "train").glob("*.jpg"))[: KILLS + 3]
    random = np.random.default_rng(5)

    def start(state: int) -> multiprocessing.context.ForkServerProcess:
        shutil.copy(train[state], trained_copy.collection / CHANGING)
        process = forks.Process(target=index, args=(trained_copy,))
        process.start()
        return process

    seconds = []
    for state in range(2):  # the first waits for the imports too
        started = time.monotonic()
        process = start(state)
        process.join()
        assert process.exitcode == 0
        seconds.append(time.monotonic() - started)
    loop = Loop(trained_copy.workspace)
    loop.start()
    killed = 0
    for state in range(2, KILLS + 2):
        process = start(state)
        process.join(random.uniform(0.1, 0.9) * min(seconds))
        killed += process.exitcode is None
        process.kill()
        process.join()
    assert start(KILLS + 2).join() is None
    time.sleep(0.5)
    loop.ended.set()
    loop.join()
    assert loop.failures == []
    score_N = np.array([loop.score[f"train/{image.name}"] for image in train])
    distance_SN = np.abs(np.array(loop.seen)[:, None] - score_N)
    assert distance_SN.min(axis=1).max() < 1e-6
    places = distance_SN.argmin(axis=1).tolist()
    assert places == sorted(set(places))
    assert places[-1] == KILLS + 2
    assert killed >= 3
    assert trained_copy.run("index", "--name", "copy").answer["index"]["unchanged"] == 142
    space = Workspace(trained_copy.workspace)
    clear_leftovers(space)
    assert [path for path in (space.index / "copy").rglob("*") if "tmp" in path.name] == []
    listed = scenekin("versions", "--name", "copy", "--workspace", space.root, "--json").answer["versions"]
    assert all("damage" not in row for row in listed)
