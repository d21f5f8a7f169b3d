"""Settings for reading captions."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tasks.captions.stems import languages


class CaptionsConfig(BaseModel):
    """How captions become stems (METHOD.md 2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str = Field(
        default="english", description="Language of the Snowball stemmer that reduces words to stems."
    )

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        if language not in languages():
            raise ValueError(f"no stemmer for {language!r}; choose one of {', '.join(languages())}")
        return language
