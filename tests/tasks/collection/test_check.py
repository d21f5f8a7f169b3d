import json

import pytest

from tasks.collection.check import TOO_FEW, describe, summary
from tests.tasks.collection.making import collect, files_of, pictures

FILES = files_of(
    {
        "Flickr8k.token.txt": "a.jpg#0\tA dog .\na.jpg#1\tA pup .\nb.jpg#0\tA cat .\n"
        + "".join(f"gone{number}.jpg#0\tGone .\n" for number in range(5)),
        "Flickr_8k.trainImages.txt": "a.jpg\n",
        "Flickr_8k.devImages.txt": "b.jpg\n",
        "Flickr_8k.testImages.txt": "gone0.jpg\n",
        **pictures("a.jpg", "b.jpg", "extra.jpg"),
    }
)


def test_summary_has_the_keys_of_the_contract() -> None:
    counts = summary(collect(FILES))
    problems = counts.pop("problems")
    assert counts == {
        "format": "flickr8k",
        "images": 8,
        "usable": 3,
        "with_captions": 2,
        "captions": 3,
        "splits": {"train": 1, "validation": 1, "test": 0},
        "trainable": False,
        "problem_counts": {"missing-image": 5, "no-caption": 1, "no-split": 1},
    }
    assert len(problems) == 7
    assert json.loads(json.dumps(problems))[0] == {
        "kind": "missing-image",
        "item": "gone0.jpg",
        "line": 4,
        "detail": "no such file; captions not used: 1",
    }


def test_description_shows_the_first_problems_of_every_kind() -> None:
    assert describe(collect(FILES)).splitlines() == [
        "flickr8k: 8 images listed, 3 usable, 2 with captions (3 captions)",
        "splits: train 1, validation 1, test 0",
        "missing-image (5)",
        "  gone0.jpg (line 4): no such file; captions not used: 1",
        "  gone1.jpg (line 5): no such file; captions not used: 1",
        "  gone2.jpg (line 6): no such file; captions not used: 1",
        "  and 2 more",
        "no-caption (1)",
        "  extra.jpg: has no captions; it can be found, but nothing is learned from it",
        "no-split (1)",
        "  extra.jpg: is in no split; it can be found, but is not used for training or evaluation",
        "Use --out problems.csv or --json to list all problems.",
        "Not enough to train: at least 8 training and 4 validation images need captions.",
    ]


def test_a_description_that_lists_every_problem_does_not_point_to_json() -> None:
    assert "--json" not in describe(collect(files_of({"a.jpg": "", "b.jpg": ""})))


def test_no_line_hides_a_single_problem() -> None:
    for count, shown in ((4, 4), (5, 3)):
        lines = describe(collect(files_of({f"{number}.jpg": "" for number in range(count)}))).splitlines()
        assert sum(line.endswith("empty file") for line in lines) == shown
        assert ("  and 2 more" in lines) == (count == 5)


def test_missing_images_are_grouped_by_folder() -> None:
    gone = ["a/1", "b/1", "b/2", "c/1", "d/1", "e/1", "f/1"]
    table = "image,caption\n" + "".join(f"{name}.jpg,Gone .\n" for name in gone)
    lines = describe(collect(files_of({"list.csv": table, **pictures("x.jpg")}))).splitlines()
    missing = lines.index("missing-image (7)")
    assert lines[missing + 1 : missing + 5] == [
        "  2 in b, such as b/1.jpg (line 3): no such file; captions not used: 1",
        "  a/1.jpg (line 2): no such file; captions not used: 1",
        "  c/1.jpg (line 5): no such file; captions not used: 1",
        "  and 3 more",
    ]


def test_a_name_cannot_break_the_line_or_command_the_terminal() -> None:
    text = describe(collect(files_of({"a\nb.jpg": "", "\x1b[31mc\u00e9 \u202e.jpg": ""})))
    assert text.splitlines()[2:] == [
        "unreadable-image (2)",
        r"  \x1b[31mc\u00e9 \u202e.jpg: empty file".replace(r"\u00e9", "\u00e9"),
        r"  a\nb.jpg: empty file",
        "No usable images: there is nothing to train on or to index.",
    ]


@pytest.mark.parametrize(("train", "validation", "trainable"), [(8, 4, True), (7, 4, False), (8, 3, False)])
def test_a_collection_with_too_few_captions_to_train_says_so_last(train: int, validation: int, trainable: bool) -> None:
    names = [f"{number}.jpg" for number in range(train + validation + 1)]
    files = {
        "Flickr8k.token.txt": "".join(f"{name}#0\tA dog .\n" for name in names),
        "Flickr_8k.trainImages.txt": "\n".join(names[:train]),
        "Flickr_8k.devImages.txt": "\n".join(names[train:-1]),
        "Flickr_8k.testImages.txt": names[-1],
    }
    collection = collect(files_of({**files, **pictures(*names)}))
    assert summary(collection)["trainable"] == trainable
    assert describe(collection).endswith(TOO_FEW) != trainable


def test_counts_of_one_are_singular() -> None:
    collection = collect(files_of({"a.txt": "A dog.", **pictures("a.jpg")}))
    assert describe(collection).splitlines()[0] == "sidecar: 1 image listed, 1 usable, 1 with captions (1 caption)"
