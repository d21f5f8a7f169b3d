"""The flows as Prefect deploys them: each step is a Prefect task, and a run waits for a busy workspace.

Errors that are for people to read end a run as failed with their sentence. Prefect would log a traceback of them for
the task, the flow and the process.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from prefect import Flow, Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.exceptions import FailedRun
from prefect.logging import get_logger
from prefect.states import Completed, Failed

from flows.errors import EXPECTED
from flows.evaluate import evaluate
from flows.index import index
from flows.results import FlowResult
from flows.train import train
from storage.source.tree import Source
from tasks.caching import EXECUTE
from tasks.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=FlowResult)

REPEATING = tuple(map(get_logger, ("task_runs", "flow_runs", "engine")))  # a returned Failed to them is an exception

log = logging.getLogger("scenekin")


def run_as_task(name: str, step: Callable[[], T], /, *, cached: bool = False) -> T:
    """Run a step as a Prefect task, shown as Cached if its result exists already.

    Prefect keeps no result: the artifact's folder is the only record.
    """
    outcome: list[T] = []
    refused: list[Exception] = []

    def run() -> State:
        try:
            outcome.append(step())
        except EXPECTED as error:
            refused.append(error)
            return Failed(message=str(error))
        return Completed(name="Cached" if cached else "Completed")

    Task(run, name=name, task_run_name=name, cache_policy=NO_CACHE, persist_result=False)()
    if refused:
        raise refused[0]
    return outcome[0]


def _refuse_credentials(*parameters: object) -> None:
    """Raise InputError for a URL with credentials: Prefect stores and shows the parameters of a run."""
    for url in parameters:
        if isinstance(url, str) and (address := Source(url).address) != url:
            raise InputError(
                f"The URL {address} was given with credentials, which Prefect stores with each run: remove them from "
                "the deployment's parameters and delete this run; docs/security.md describes other ways to pass them."
            )


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a record says more than that a task (None) or a flow (FailedRun) returned Failed, as its state does."""
    return not record.exc_info or not isinstance(record.exc_info[1], FailedRun | None)


def _as_flow(name: str, function: Callable[P, R]) -> Flow[P, R | State]:
    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R | State:
        log.setLevel(logging.INFO)  # Prefect shows what this logger emits, and leaves its level as it is
        for logger in REPEATING:
            logger.addFilter(_is_news)
        token = EXECUTE.set(run_as_task)
        try:
            _refuse_credentials(*args, *kwargs.values())
            result = function(*args, **kwargs)
        except EXPECTED as error:
            log.error("%s", error)
            return Failed(message=str(error))
        finally:
            EXECUTE.reset(token)
        log.info("%s", result.headline)
        return result

    return Flow(run, name=name)


train_flow = _as_flow("train-flow", train)
index_flow = _as_flow("index-flow", index)
evaluate_flow = _as_flow("evaluate-flow", evaluate)
