"""How captions are read."""

from pydantic import BaseModel, ConfigDict, field_validator

from tasks.captions.stems import LANGUAGES


class CaptionsConfig(BaseModel):
    """The language whose Snowball stemmer reduces words to stems."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str = "english"

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        if language not in LANGUAGES:
            raise ValueError(f"no stemmer for {language!r}; choose one of {', '.join(LANGUAGES)}")
        return language
