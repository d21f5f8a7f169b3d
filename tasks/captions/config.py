"""How captions are processed."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tasks.captions.stems import languages


class CaptionsConfig(BaseModel):
    """The language of the captions, which decides the Snowball stemmer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str = Field(default="english", description="Language of the captions; decides the Snowball stemmer.")

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        if language not in languages():
            raise ValueError(f"no stemmer for {language!r}; choose one of {', '.join(languages())}")
        return language
