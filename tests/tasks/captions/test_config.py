import pytest
from pydantic import ValidationError

from tasks.captions.config import CaptionsConfig


def test_english_is_the_default() -> None:
    assert CaptionsConfig().language == "english"


@pytest.mark.parametrize("language", ["klingon", "porter", "English", ""])
def test_a_language_without_a_stemmer_is_refused_with_the_choices(language: str) -> None:
    with pytest.raises(ValidationError, match=r"no stemmer for .*english.*german"):
        CaptionsConfig(language=language)


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError, match="stop_words"):
        CaptionsConfig.model_validate({"stop_words": True})
