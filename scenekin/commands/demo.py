"""`scenekin demo`."""

import shlex
import shutil
import sys
from pathlib import Path

from scenekin.commands.evaluate import evaluate_text
from scenekin.commands.index import index_text
from scenekin.commands.train import train_text
from scenekin.console import short
from scenekin.local_run import quieten, run_flow
from scenekin.options import Workspace


def demo(workspace: Workspace = None) -> None:
    """Do the main job on a collection that is drawn for it: train, index, evaluate."""
    quieten()
    from flows.config import Config
    from flows.evaluate import evaluate_flow
    from flows.index import index_flow
    from flows.train import train_flow
    from storage.workspace import open_workspace
    from tasks.demo.task import demo_collection
    from tasks.training.config import TripletConfig

    space = open_workspace(workspace)
    collection = str(demo_collection(space))
    settings = Config(v_v=TripletConfig(refreshes=12))  # as good here, and a minute shorter
    print(train_text(run_flow(train_flow, collection, settings, str(space.root))))
    print(index_text(run_flow(index_flow, collection, "demo", "champion", settings, str(space.root))))
    evaluated = run_flow(evaluate_flow, collection, "test", "champion", str(space.root))
    print(evaluate_text(evaluated))
    query = sorted(Path(collection, "test").glob("*.jpg"))[0]
    usual = space.root == Path(".scenekin").absolute()
    command = [
        "scenekin" if shutil.which("scenekin") else short(Path(sys.executable).with_name("scenekin")),
        "search",
        short(query),
        "--name",
        "demo",
        *([] if usual else ["--workspace", short(space.root)]),
    ]
    print(f"\nNext, search for scenes like a picture:\n  {shlex.join(command)}")
