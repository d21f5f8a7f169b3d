"""`scenekin demo`."""

import shlex
import shutil
import sys
from pathlib import Path

from scenekin.commands.evaluate import evaluate_text
from scenekin.commands.index import index_text
from scenekin.commands.train import train_text
from scenekin.console import short
from scenekin.options import Wait, Workspace


def demo(wait: Wait = False, workspace: Workspace = None) -> None:
    """Train, index and evaluate on a generated collection."""
    from flows.config import Config
    from flows.evaluate import evaluate
    from flows.index import index
    from flows.train import train
    from storage.workspace import open_workspace
    from tasks.demo.task import demo_collection
    from tasks.training.config import TripletConfig

    space = open_workspace(workspace)
    collection = str(demo_collection(space))
    settings = Config(v_v=TripletConfig(refreshes=12))  # as good on this collection, and a minute faster
    root = str(space.root)
    trained = train(collection, settings, workspace=root, wait=wait)
    print(train_text(trained))
    model = str(trained.model.version)  # whatever else the workspace has
    print(index_text(index(collection, "demo", model, config=settings, workspace=root, wait=wait)))
    print(evaluate_text(evaluate(collection, model=model, workspace=root, wait=wait)))
    query = sorted(Path(collection, "test").glob("*.jpg"))[0]
    is_default = space.root == Path(".scenekin").absolute()
    command = [
        "scenekin" if shutil.which("scenekin") else short(Path(sys.executable).with_name("scenekin")),
        "search",
        short(query),
        "--name",
        "demo",
        *([] if is_default else ["--workspace", short(space.root)]),
    ]
    print(f"\nNext, search for similar scenes:\n  {shlex.join(command)}")
