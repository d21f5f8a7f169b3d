import json

from tasks.collection.check import describe, summary
from tests.tasks.collection.making import collect, files_of, pictures

FILES = files_of(
    {
        "Flickr8k.token.txt": "a.jpg#0\tA dog .\na.jpg#1\tA pup .\nb.jpg#0\tA cat .\n"
        + "".join(f"gone{number}.jpg#0\tGone .\n" for number in range(5)),
        "Flickr_8k.trainImages.txt": "a.jpg\n",
        "Flickr_8k.devImages.txt": "b.jpg\n",
        **pictures("a.jpg", "b.jpg", "extra.jpg"),
    }
)


def test_summary_has_the_keys_of_the_contract() -> None:
    facts = summary(collect(FILES))
    problems = facts.pop("problems")
    assert facts == {
        "format": "flickr8k",
        "images": 8,
        "usable": 3,
        "with_captions": 2,
        "captions": 3,
        "splits": {"train": 1, "validation": 1, "test": 0},
        "problem_counts": {"missing-image": 5, "no-caption": 1, "no-split": 1},
    }
    assert len(problems) == 7
    assert json.loads(json.dumps(problems))[0] == {
        "kind": "missing-image",
        "item": "gone0.jpg",
        "line": 4,
        "detail": "there is no file gone0.jpg; captions not used: 1",
    }


def test_description_counts_every_kind_and_names_the_first_items() -> None:
    assert describe(collect(FILES)).splitlines() == [
        "flickr8k: 8 images listed, 3 usable, 2 with captions (3)",
        "train 1, validation 1, test 0",
        "  missing-image       5  gone0.jpg:4, gone1.jpg:5, gone2.jpg:6 and 2 more",
        "  no-caption          1  extra.jpg",
        "  no-split            1  extra.jpg",
    ]


def test_a_name_cannot_break_the_line_or_command_the_terminal() -> None:
    text = describe(collect(files_of({"a\nb.jpg": "", "\x1b[31mc\u00e9 \u202e.jpg": ""})))
    assert text.splitlines()[2:] == [
        r"  unreadable-image       2  \x1b[31mc\u00e9 \u202e.jpg, a\nb.jpg".replace(r"\u00e9", "\u00e9")
    ]
