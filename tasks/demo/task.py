"""Creates the demo's collection in a workspace."""

from pathlib import Path

from storage.workspace import Workspace
from tasks.demo.collection import write_collection


def demo_collection(workspace: Workspace) -> Path:
    """Return the folder of the demo's collection, which is created if it does not exist."""
    folder = workspace.root / "demo"
    write_collection(folder)
    return folder
