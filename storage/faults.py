"""Named points between the steps of writing, where tests let a crash, a full disk or a torn write happen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path


class FaultPoint(Enum):
    """A moment after one step and before the next; its comment says what the action receives."""

    ARTIFACT_WRITTEN = auto()  # the temporary folder, not renamed yet
    INDEX_VECTORS_WRITTEN = auto()  # the temporary folder of the version, as for the next two
    INDEX_PARTS_WRITTEN = auto()
    INDEX_MANIFEST_WRITTEN = auto()
    INDEX_MANIFEST_READ = auto()  # the folder of the version
    BEFORE_CURRENT_MOVES = auto()  # the folder of the index, as for the next one
    AFTER_CURRENT_MOVED = auto()
    MODEL_KEPT = auto()  # the model's folder among the workspace's models
    MODEL_REGISTERED = auto()  # the workspace; the version has no alias yet
    REASON_SET = auto()  # the workspace; the reason is stored, the alias not yet
    RUN_ENDED = auto()  # the workspace
    CANDIDATE_TRAINED = auto()  # the stage's work folder; the model is not written yet


Action = Callable[[Path], object]

_actions: dict[FaultPoint, Action] = {}


def reach(point: FaultPoint, folder: Path) -> None:
    """Run the action that a test injected at a point; does nothing otherwise."""
    if action := _actions.get(point):
        action(folder)


@contextmanager
def inject(point: FaultPoint, action: Action) -> Iterator[None]:
    """Run an action each time a point is reached, for tests. What the action raises, the product has to handle."""
    _actions[point] = action
    try:
        yield
    finally:
        del _actions[point]
