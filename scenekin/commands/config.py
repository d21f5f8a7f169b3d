"""`scenekin config`."""

from scenekin.options import Workspace


def config(workspace: Workspace = None) -> None:  # noqa: ARG001  taken by every command
    """Print every setting with its default, as YAML for --config."""
    import yaml

    from flows.config import Config

    print(yaml.safe_dump(Config().model_dump(mode="json"), sort_keys=False), end="")
