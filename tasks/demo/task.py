"""The demo's collection in a workspace."""

from pathlib import Path

from storage.workspace import Workspace
from tasks.demo.collection import write_collection


def demo_collection(workspace: Workspace) -> Path:
    """The folder of the demo's collection, made where it is not there yet."""
    folder = workspace.root / "demo"
    write_collection(folder)
    return folder
