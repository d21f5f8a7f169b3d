import pyarrow as pa
import pytest

from storage.artifacts import Artifact, write_artifact
from storage.tables import write_table
from storage.workspace import Workspace
from tasks.collection.arrow import CAPTIONS, PROBLEMS
from tasks.collection.task import has_training_captions, require_captions
from tasks.errors import InputError


def captioned(
    workspace: Workspace, problem: tuple[str, str, str] = ("no-caption", "1.jpg", ""), **images: int
) -> Artifact:
    """A collection of which only the number of captioned images a split is known, and one problem."""

    def fill(folder) -> None:
        for split, count in images.items():
            rows = [{"image_id": str(n), "captions": ["a dog"], "copy_group": n} for n in range(count)]
            write_table(folder / f"captions/{split}.parquet", pa.Table.from_pylist(rows, schema=CAPTIONS))
        found = dict(zip(("kind", "item", "detail"), problem, strict=True))
        write_table(folder / "problems.parquet", pa.Table.from_pylist([found], schema=PROBLEMS))

    return write_artifact(workspace, "collection", "key", fill)


def test_enough_captions_pass(tmp_path) -> None:
    require_captions(Workspace(tmp_path), captioned(Workspace(tmp_path), train=8, validation=4), "validation")


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (
            {"train": 7, "validation": 9},
            "The train split has 7 captioned images, but at least 8 are needed to learn",
        ),
        (
            {"train": 9, "validation": 3},
            "The validation split has 3 captioned images, but at least 4 are needed to",
        ),
        ({"train": 0, "validation": 0}, "The train split has 0 captioned images"),
    ],
)
def test_too_few_captions_are_refused_by_split(tmp_path, images: dict[str, int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        require_captions(Workspace(tmp_path), captioned(Workspace(tmp_path), **images), "validation")


def test_an_evaluation_can_do_without_training_captions(tmp_path) -> None:
    workspace = Workspace(tmp_path)
    collection = captioned(workspace, train=7, test=4)
    require_captions(workspace, collection, "test", train=False)
    assert not has_training_captions(workspace, collection)
    with pytest.raises(InputError, match="The train split has 7 captioned images"):
        require_captions(workspace, collection, "test")


def test_a_file_that_was_not_read_is_named_where_captions_are_missing(tmp_path) -> None:
    collection = captioned(Workspace(tmp_path), problem=("unused-file", "liste.csv", "set --caption-column"), train=0)
    with pytest.raises(InputError, match=r"needed to learn from; liste\.csv: set --caption-column\.$"):
        require_captions(Workspace(tmp_path), collection, "validation")
