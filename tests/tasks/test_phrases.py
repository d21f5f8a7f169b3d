import pytest

from tasks.phrases import counted, did_you_mean, either


@pytest.mark.parametrize(
    ("count", "phrase"), [(0, "0 images"), (1, "1 image"), (2, "2 images"), (1200, "1,200 images")]
)
def test_a_noun_agrees_with_its_number(count: int, phrase: str) -> None:
    assert counted(count, "image") == phrase


def test_some_plurals_are_irregular() -> None:
    assert [counted(count, "query", "queries") for count in (1, 2)] == ["1 query", "2 queries"]


@pytest.mark.parametrize(("words", "phrase"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_alternatives_are_joined(words: list[str], phrase: str) -> None:
    assert either(words) == phrase


def test_names_that_differ_in_folder_case_or_extension_are_suggested() -> None:
    known = ["2011/Winter/F 14.JPG", "a/f 14.png", "b/F 14.tif", "c/F 14.gif", "F 15.JPG"]
    assert did_you_mean("x/f 14.jpg", known) == " Did you mean '2011/Winter/F 14.JPG', 'a/f 14.png' or 'b/F 14.tif'?"
    assert did_you_mean("f 15", known) == " Did you mean 'F 15.JPG'?"
    assert did_you_mean("F 16.JPG", known) == ""
