"""`scenekin demo`."""

import shlex
import shutil
import sys
from pathlib import Path

from scenekin.commands.evaluate import evaluate_text
from scenekin.commands.index import index_text
from scenekin.commands.train import train_text
from scenekin.console import short
from scenekin.options import Wait, Workspace, workspace_argument


def demo(wait: Wait = False, workspace: Workspace = None) -> None:
    """Train, index and evaluate on a generated collection."""
    from flows.config import Config
    from flows.evaluate import evaluate
    from flows.index import index
    from flows.train import train
    from storage.workspace import open_workspace
    from tasks.demo.task import demo_collection
    from tasks.model.config import BackboneConfig
    from tasks.training.config import TripletConfig

    space = open_workspace(workspace)
    collection = str(demo_collection(space))
    # as good on this collection, and minutes faster
    settings = Config(backbone=(BackboneConfig(),), v_v=TripletConfig(refreshes=12))
    root = str(space.root)
    trained = train(collection, settings, workspace=root, wait=wait)
    print(train_text(trained))
    model = str(trained.model.version)  # whatever else the workspace has
    print(index_text(index(collection, "demo", model, config=settings, workspace=root, wait=wait)))
    print(evaluate_text(evaluate(collection, model=model, workspace=root, wait=wait)))
    print(f"\n{next_steps(space.root, sorted(Path(collection, 'test').glob('*.jpg'))[0])}")


def next_steps(workspace: Path, query: Path) -> str:
    """Return the commands to try next, as they can be pasted into a shell."""
    program = "scenekin" if shutil.which("scenekin") else short(Path(sys.executable).with_name("scenekin"))
    index = ["--name", "demo", *workspace_argument(workspace)]
    search, serve = (shlex.join([program, *words, *index]) for words in (["search", short(query)], ["serve"]))
    return f"Next, search for similar scenes:\n  {search}\nor in the browser:\n  {serve}"
