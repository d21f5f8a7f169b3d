"""Settings from environment variables: the workspace folder and the Dask cluster."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """SCENEKIN_HOME: the workspace folder; SCENEKIN_DASK_ADDRESS: a scheduler to use instead of a local cluster."""

    model_config = SettingsConfigDict(env_prefix="SCENEKIN_", env_ignore_empty=True, extra="ignore")

    home: Path = Field(default=Path(".scenekin"), description="Workspace folder.")
    dask_address: str | None = Field(
        default=None, description="Address of a Dask scheduler to use instead of a local cluster."
    )
