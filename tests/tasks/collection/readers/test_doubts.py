import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.records import Problem
from tasks.errors import InputError
from tests.tasks.collection.making import files_of

IMAGES = [f"{number // 10}/{number}.jpg" for number in range(30)]


def problems(name: str, header: str, *cells: str, **columns: str) -> list[Problem]:
    """What is reported for a table of 30 rows around 30 images; # is the number of the row."""
    rows = [header, *(",".join(cells).replace("#", str(number)) for number in range(30))]
    files = files_of({name: "\n".join(rows), **dict.fromkeys(IMAGES, "")})
    reading = read_collection(files, files, None, CollectionConfig.model_validate(columns))
    return [problem for problem in reading.problems if problem.kind not in ("caption-column", "no-folder")]


DETAIL = "0 of 30 names in the column {} of {} are images, but most in Datei are; use --image-column 'Datei'"


def test_a_column_without_images_is_told_with_the_one_that_has_them() -> None:
    row = "StA #", "Ort", "A dog no. # .", "#.jpg"
    header = "{},Ort,Text,Datei"
    with pytest.raises(InputError, match=f"^{DETAIL.format('Signatur', 't.csv')}.$"):
        problems("t.csv", header.format("Signatur"), *row, image_column="signatur")
    assert problems("t.csv", header.format("image"), *row) == [
        Problem("image-column", "t.csv", DETAIL.format("image", "t.csv"))
    ]
    detail = f"{DETAIL.format('file_name', 'metadata.csv')}."
    assert problems("metadata.csv", header.format("file_name"), *row, image_column="file_name") == [
        Problem("unused-file", "metadata.csv", detail)
    ]


def test_names_of_images_that_are_gone_are_no_wrong_column() -> None:
    assert problems("t.csv", "image,caption,Ort", "gone#.jpg", "A dog no. # .", "Ulm") == []


def test_few_short_texts_are_noted() -> None:
    detail = (
        "the texts in the column Foto repeat: 1 different in 30 rows, such as 'Karl M.'; "
        "models learn more from descriptions"
    )
    for name in ("t.csv", "metadata.csv"):
        found = problems(name, "file_name,Text,Foto", "#.jpg", "A dog no. # .", "Karl M.", caption_column="foto")
        assert found == [Problem("repeated-captions", name, detail)]
        assert problems(name, "file_name,Text,Foto", "#.jpg", "A dog no. # .", "Karl M.", caption_column="Text") == []


def test_texts_of_a_word_or_two_are_noted() -> None:
    detail = (
        "no text in the column Name has more than 2 words, such as 'Karl 0'; if these are no captions, name another "
        "column with --caption-column"
    )
    row = "#.jpg", "A dog no. # .", "Karl #"
    assert problems("t.csv", "image,Text,Name", *row, caption_column="Name") == [
        Problem("short-captions", "t.csv", detail)
    ]
    assert problems("t.csv", "image,Text,Name", *row, caption_column="Text") == []
