"""The flows as Prefect deploys them: each step is a Prefect task, and a run waits for a busy workspace."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from prefect import Flow, Task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed

from flows.evaluate import evaluate
from flows.index import index
from flows.train import train
from tasks.caching import EXECUTE

P = ParamSpec("P")
T = TypeVar("T")


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


def _as_flow(name: str, function: Callable[P, T]) -> Flow[P, T]:
    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        token = EXECUTE.set(run_as_task)
        try:
            return function(*args, **kwargs)
        finally:
            EXECUTE.reset(token)

    return Flow(run, name=name)


train_flow = _as_flow("train-flow", train)
index_flow = _as_flow("index-flow", index)
evaluate_flow = _as_flow("evaluate-flow", evaluate)
