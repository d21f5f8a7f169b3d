import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.records import Files
from tasks.errors import InputError
from tests.tasks.collection.making import files_of, pictures

TOKENS = {"Flickr8k.token.txt": "a.jpg#0\tA dog .\n"}
METADATA = {"metadata.csv": "file_name,text\na.jpg,A dog .\n"}
COCO = {"captions.json": '{"images": [], "annotations": []}'}
PIPED = {"results.csv": "image_name| comment_number| comment\na.jpg| 0| A dog .\n"}
TABLE = {"photos.csv": "image,caption\na.jpg,A dog .\n"}
SIDECAR = {"a.txt": "A dog .\n"}
SPECIFIC = {"flickr8k": TOKENS, "flickr30k": PIPED, "coco": COCO, "imagefolder": METADATA}
GENERAL = {"table": TABLE, "sidecar": SIDECAR}
KNOWN = (
    "flickr8k, flickr30k, coco, karpathy, visual-genome, imagefolder, google-takeout, parquet-images, "
    "table, sidecar, folder"
)


@pytest.mark.parametrize(("format", "contents"), [*SPECIFIC.items(), *GENERAL.items(), ("folder", {})])
def test_the_format_is_found_by_looking(format: str, contents: dict[str, str]) -> None:
    files = files_of({**contents, "readme.txt": "Notes .", **pictures("a.jpg")})
    assert read_collection(files, files).format == format


@pytest.mark.parametrize(("format", "contents"), SPECIFIC.items())
def test_a_stray_pair_or_table_makes_no_second_candidate(format: str, contents: dict[str, str]) -> None:
    files = files_of({**contents, **TABLE, **SIDECAR, **pictures("a.jpg")})
    assert read_collection(files, files).format == format


def test_a_table_and_a_pair_are_ambiguous() -> None:
    files = files_of({**TABLE, **SIDECAR, **pictures("a.jpg")})
    with pytest.raises(InputError, match=r"could be table or sidecar; .*--format"):
        read_collection(files, files)
    for format in ("table", "sidecar"):
        assert read_collection(files, files, format).format == format


@pytest.mark.parametrize("source", ["notes.json", "list.txt"])
def test_a_captions_file_that_is_none_is_said_though_there_are_images(source: str) -> None:
    with pytest.raises(InputError, match="no captions in a known format"):
        read_collection(files_of({source: "{}"}), files_of(pictures("a.jpg")))


def test_a_captions_column_is_passed_on() -> None:
    files = files_of({"metadata.csv": "file_name,text,label\na.jpg,A dog .,dog\n", **pictures("a.jpg")})
    reading = read_collection(files, files, None, CollectionConfig(caption_column="label"))
    assert [item.captions for item in reading.items] == [("dog",)]


def test_a_named_format_overrides_what_looks_ambiguous() -> None:
    files = files_of({**TOKENS, **METADATA, **pictures("a.jpg")})
    with pytest.raises(InputError, match=r"could be flickr8k or imagefolder; .*--format"):
        read_collection(files, files)
    for format in ("flickr8k", "imagefolder", "folder"):
        assert read_collection(files, files, format).format == format


@pytest.mark.parametrize("contents", [{}, {"readme.txt": "nothing here"}])
def test_nothing_to_read_is_one_sentence_that_lists_the_formats(contents: dict[str, str]) -> None:
    files = files_of(contents)
    with pytest.raises(InputError, match=rf"No images and no captions .*\({KNOWN}\)"):
        read_collection(files, files)


def test_an_unknown_format_is_one_sentence_that_lists_the_known() -> None:
    files = files_of(pictures("a.jpg"))
    with pytest.raises(InputError, match=rf"'flicker8k'; choose one of {KNOWN}\.$"):
        read_collection(files, files, "flicker8k")


def test_a_captions_file_that_cannot_be_opened_is_one_sentence() -> None:
    files = Files(["metadata.csv"], files_of({}).open)
    with pytest.raises(InputError, match="Cannot read"):
        read_collection(files, files)


@pytest.mark.parametrize(("format", "contents"), [*SPECIFIC.items(), ("sidecar", SIDECAR), ("folder", {})])
def test_columns_named_where_there_are_none_are_told(format: str, contents: dict[str, str]) -> None:
    files = files_of({**contents, **pictures("a.jpg")})
    reading = read_collection(files, files, None, CollectionConfig(image_column="image"))
    told = [problem.item for problem in reading.problems if problem.kind == "unused-column"]
    assert (reading.format, told) == (format, [] if format == "imagefolder" else ["image"])
