"""The flows as Prefect deploys them: each step is a Prefect task, and a run waits for a busy workspace."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from prefect import Flow, Task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed

from flows.evaluate import evaluate
from flows.index import index
from flows.results import FlowResult
from flows.train import train
from storage.source.tree import Source
from tasks.caching import EXECUTE

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=FlowResult)

log = logging.getLogger("scenekin")


def run_as_task(name: str, step: Callable[[], T], /, *, cached: bool = False) -> T:
    """Run a step as a Prefect task, shown as Cached if its result exists already.

    Prefect keeps no result: the artifact's folder is the only record.
    """
    outcome: list[T] = []

    def run() -> object:
        outcome.append(step())
        return Completed(name="Cached" if cached else "Completed")

    Task(run, name=name, task_run_name=name, cache_policy=NO_CACHE, persist_result=False)()
    return outcome[0]


def _refuse_credentials(*parameters: object) -> None:
    """Raise ValueError for a URL with credentials: Prefect stores and shows the parameters of a run."""
    for url in parameters:
        if isinstance(url, str) and (address := Source(url).address) != url:
            raise ValueError(
                f"The URL {address} was given with credentials, which Prefect stores with each run: remove them from "
                "the deployment's parameters and delete this run; docs/security.md describes other ways to pass them."
            )


def _as_flow(name: str, function: Callable[P, R]) -> Flow[P, R]:
    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        _refuse_credentials(*args, *kwargs.values())
        log.setLevel(logging.INFO)  # Prefect shows what this logger emits, and leaves its level as it is
        token = EXECUTE.set(run_as_task)
        try:
            result = function(*args, **kwargs)
        finally:
            EXECUTE.reset(token)
        log.info("%s", result.headline)
        return result

    return Flow(run, name=name)


train_flow = _as_flow("train-flow", train)
index_flow = _as_flow("index-flow", index)
evaluate_flow = _as_flow("evaluate-flow", evaluate)
