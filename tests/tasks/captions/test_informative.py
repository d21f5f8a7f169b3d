import pytest

from tasks.captions.informative import informative_words
from tasks.captions.vocabulary import Vocabulary, build_vocabulary

CAPTIONS = [["a dog runs of joy"], ["a dog and two kites"], ["the kites of a dog"], ["a man"]]


@pytest.fixture
def vocabulary() -> Vocabulary:
    return build_vocabulary(CAPTIONS, "english")


def test_what_half_of_the_images_have_still_tells_and_what_more_have_does_not(vocabulary: Vocabulary) -> None:
    assert informative_words("Dogs KITE, kites man", vocabulary) == ["kite", "kites", "man"]


def test_function_words_say_nothing_however_rare(vocabulary: Vocabulary) -> None:
    assert informative_words("the of and two", vocabulary) == ["two"]


def test_unknown_words_and_what_is_no_word_do_not_tell(vocabulary: Vocabulary) -> None:
    assert informative_words("zeppelin 🐶 ' | ", vocabulary) == []


def test_another_language_has_its_frequencies_alone() -> None:
    german = build_vocabulary([["der Hund"], ["der Mann"], ["an die Wand"]], "german")
    assert informative_words("der Hund an die Wand", german) == ["hund", "an", "die", "wand"]
