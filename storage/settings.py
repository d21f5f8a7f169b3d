"""Settings from environment variables."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """The environment variables SCENEKIN_HOME and SCENEKIN_DASK_ADDRESS."""

    model_config = SettingsConfigDict(env_prefix="SCENEKIN_", env_ignore_empty=True, extra="ignore")

    home: Path = Field(default=Path(".scenekin"), description="Workspace folder.")
    dask_address: str | None = Field(
        default=None, description="Address of a Dask scheduler to use instead of a local cluster."
    )
