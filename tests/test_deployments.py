"""prefect.yaml: its flows are there and take their parameters, and a worker runs them as the command does."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter
from prefect.client.schemas.objects import FlowRun, TaskRun
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ParameterTypeError

from tests.trained import QUICK, STEPS, Trained, registered_versions

ROOT = Path(__file__).parents[1]
DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]


def flow_of(deployment: Mapping[str, Any]) -> Flow[..., Any]:
    module, _, name = deployment["entrypoint"].rpartition(".")
    flow: Flow[..., Any] = getattr(import_module(module), name)
    return flow


def name_of(deployment: Mapping[str, Any]) -> str:
    return f"{flow_of(deployment).name}/{deployment['name']}"


def test_the_three_flows_are_deployed_under_their_names() -> None:
    assert [name_of(deployment) for deployment in DEPLOYMENTS] == [
        "train-flow/default",
        "index-flow/nightly",
        "evaluate-flow/default",
    ]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=name_of)
def test_an_entrypoint_takes_its_parameters(deployment: dict[str, Any]) -> None:
    flow, given = flow_of(deployment), deployment["parameters"]
    assert flow.validate_parameters(given).items() >= given.items()
    assert flow.validate_parameters({**given, "collection": "/photos"})["collection"] == "/photos"
    with pytest.raises((ParameterTypeError, TypeError)):
        flow.validate_parameters({**given, "workspace": 5})


@pytest.mark.parametrize("name", ["train-flow/default", "index-flow/nightly"])
def test_settings_are_checked_before_a_run(name: str) -> None:
    (flow,) = (flow_of(deployment) for deployment in DEPLOYMENTS if name_of(deployment) == name)
    config = flow.validate_parameters({"config": QUICK})["config"]
    assert config.backbone[0].size == QUICK["backbone"]["size"]
    with pytest.raises(ParameterTypeError, match="v_v"):
        flow.validate_parameters({"config": {"v_v": {"margn": 0.1}}})


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=name_of)
def test_credentials_are_refused_as_parameters(deployment: dict[str, Any], tmp_path: Path) -> None:
    for name in ("collection", "images"):
        given = {"workspace": str(tmp_path / "new"), name: "https://bob:secret@photos.example/set?token=secret"}
        state = flow_of(deployment).fn(**given)
        assert state.is_failed()
        assert state.message.startswith("The URL https://photos.example/set?token=*** was given with credentials")
        assert "secret" not in state.message
    assert not (tmp_path / "new").exists()


def test_the_index_is_refreshed_by_schedule_and_the_others_on_demand() -> None:
    schedules = {name_of(deployment): deployment.get("schedules", []) for deployment in DEPLOYMENTS}
    ((schedule),) = schedules.pop("index-flow/nightly")
    assert CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"]).cron == "30 3 * * *"
    assert ZoneInfo(schedule["timezone"]).key == schedule["timezone"]
    assert schedule["active"]
    assert not any(schedules.values())


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=name_of)
def test_one_run_at_a_time_works_in_the_workspace_of_the_environment(deployment: dict[str, Any]) -> None:
    assert deployment["concurrency_limit"]["limit"] == 1
    assert deployment["work_pool"]["job_variables"]["env"] == {
        "SCENEKIN_HOME": "{{ $SCENEKIN_HOME }}",
        "PREFECT_LOGGING_EXTRA_LOGGERS": "scenekin",
    }
    assert deployment["parameters"]["wait"] is True


def test_a_deployed_run_does_the_work_of_the_command(
    prefect_server: str, trained_copy: Trained, tmp_path: Path
) -> None:
    environment = {
        **os.environ,
        "PREFECT_API_URL": prefect_server,
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_LOGGING_TO_API_ENABLED": "true",
        "SCENEKIN_HOME": str(trained_copy.workspace),
    }

    def prefect(*arguments: str) -> str:
        command = [sys.executable, "-m", "prefect", *arguments]
        done = subprocess.run(
            command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    before = artifacts(trained_copy.workspace)
    prefect("work-pool", "create", "scenekin", "--type", "process")
    prefect("--no-prompt", "deploy", "--all")
    collection, config = f"collection={trained_copy.collection}", f"config={json.dumps(QUICK)}"
    prefect("deployment", "run", "train-flow/default", "-p", collection, "-p", config)
    prefect("worker", "start", "--pool", "scenekin", "--run-once")
    (run,), tasks = asyncio.run(runs_of("train-flow/default"))
    assert run.state_name == "Completed"
    assert {task.name: task.state_name for task in tasks} == {
        **dict.fromkeys(STEPS.values(), "Cached"),
        **dict.fromkeys(["register_model", "attach_report", "log_candidates"], "Completed"),
    }
    assert not (trained_copy.workspace / "prefect").exists()
    log = asyncio.run(logs_of(run))
    assert any(re.fullmatch(r"extract_features: reused in [\d.]+ s", line) for line in log), log
    told = "model 1 (champion): same model and candidates as before; nothing new was registered; report: "
    assert any(line.startswith(told) for line in log), log
    assert artifacts(trained_copy.workspace) == before
    assert registered_versions(trained_copy.workspace) == [1]
    for deployment, parameters, sentence in (
        ("evaluate-flow/default", ["-p", "collection=/nowhere"], "No such file or folder: /nowhere; give "),
        ("index-flow/nightly", ["-p", collection], "The index 'main' belongs to "),
    ):
        prefect("deployment", "run", deployment, *parameters)
        printed = prefect("worker", "start", "--pool", "scenekin", "--run-once")
        runs, _ = asyncio.run(runs_of(deployment))
        (run,) = (run for run in runs if run.state_name == "Failed")
        assert run.state is not None
        assert str(run.state.message).startswith(sentence)
        log = asyncio.run(logs_of(run))
        assert sum(line.startswith(sentence) for line in log) == 1
        assert not any("Traceback" in text or "NoneType" in text for text in (printed, *log)), log


async def logs_of(run: FlowRun) -> list[str]:
    """What Prefect shows as the log of a run."""
    async with get_client() as client:
        return [log.message for log in await client.read_logs(LogFilter(flow_run_id={"any_": [run.id]}))]


def artifacts(workspace: Path) -> dict[str, int]:
    """When each of the workspace's artifacts was written."""
    manifests = (workspace / "artifacts").glob("*/*/artifact.json")
    return {str(file.relative_to(workspace)): file.stat().st_mtime_ns for file in manifests}


async def runs_of(deployment: str) -> tuple[list[FlowRun], list[TaskRun]]:
    """The runs of a deployment that are due, and their tasks."""
    async with get_client() as client:
        home = await client.read_deployment_by_name(deployment)
        runs = [run for run in await client.read_flow_runs() if run.deployment_id == home.id]
        tasks = [task for task in await client.read_task_runs() if task.flow_run_id in {run.id for run in runs}]
    return runs, tasks
