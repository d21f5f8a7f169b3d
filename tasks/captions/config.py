"""How captions are read."""

from pydantic import BaseModel, ConfigDict, field_validator

from tasks.captions.stems import languages


class CaptionsConfig(BaseModel):
    """The language whose Snowball stemmer reduces words to stems."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str = "english"

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        if language not in languages():
            raise ValueError(f"no stemmer for {language!r}; choose one of {', '.join(languages())}")
        return language
