import pytest

from tasks.collection.formats import read_collection
from tasks.collection.records import Files
from tasks.errors import InputError
from tests.tasks.collection.making import files_of, pictures

TOKENS = {"Flickr8k.token.txt": "a.jpg#0\tA dog .\n"}
METADATA = {"metadata.csv": "file_name,text\na.jpg,A dog .\n"}
COCO = {"captions.json": '{"images": [], "annotations": []}'}


@pytest.mark.parametrize(
    ("contents", "format"), [(TOKENS, "flickr8k"), (METADATA, "imagefolder"), (COCO, "coco"), ({}, "folder")]
)
def test_the_format_is_found_by_looking(contents: dict[str, str], format: str) -> None:
    files = files_of({**contents, **pictures("a.jpg")})
    assert read_collection(files, files).format == format


def test_a_named_format_overrides_what_looks_ambiguous() -> None:
    files = files_of({**TOKENS, **METADATA, **pictures("a.jpg")})
    with pytest.raises(InputError, match=r"could be flickr8k and imagefolder; .*--format"):
        read_collection(files, files)
    for format in ("flickr8k", "imagefolder", "folder"):
        assert read_collection(files, files, format).format == format


@pytest.mark.parametrize("contents", [{}, {"readme.txt": "nothing here"}])
def test_nothing_to_read_is_one_sentence_that_lists_the_formats(contents: dict[str, str]) -> None:
    files = files_of(contents)
    with pytest.raises(InputError, match=r"no images and no captions .*flickr8k, coco, imagefolder, folder"):
        read_collection(files, files)


def test_an_unknown_format_is_one_sentence_that_lists_the_known() -> None:
    files = files_of(pictures("a.jpg"))
    with pytest.raises(InputError, match=r"'flicker8k'; choose one of flickr8k, coco, imagefolder, folder\.$"):
        read_collection(files, files, "flicker8k")


def test_a_captions_file_that_cannot_be_opened_is_one_sentence() -> None:
    files = Files(["metadata.csv"], files_of({}).open)
    with pytest.raises(InputError, match="cannot be read"):
        read_collection(files, files)
