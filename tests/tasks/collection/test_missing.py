import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.gather import gather
from tasks.collection.missing import suggest_files
from tests.tasks.collection.making import files_of, pictures, silent


def test_a_renamed_file_is_recognised_by_its_former_content() -> None:
    hints = suggest_files(["1.jpg", "2.jpg"], ["x.jpg", "y.jpg"], {"1.jpg": "b"}, {"x.jpg": "a", "y.jpg": "b"})
    assert hints == {"1.jpg": "y.jpg has the content this file had; it was probably renamed"}


@pytest.mark.parametrize(
    ("missing", "unlisted"),
    [
        ("photos/img_1.jpg", "Photos/IMG_1.JPG"),
        ("a00000", "images/a00000.jpg"),
        ("a1.jpeg", "a1.jpg"),
        ("old/a.jpg", "new/a.jpg"),
        ("beach_sunset_1.jpg", "beach-sunset-1.jpg"),
        ("caf\u00e9.jpg", "other/cafe\u0301.jpg"),
    ],
)
def test_near_names_are_suggested(missing: str, unlisted: str) -> None:
    others = ["b/other.jpg", "IMG_2.jpg", "a00001.jpg"]
    assert suggest_files([missing], [*others, unlisted], {}, {}) == {missing: f"perhaps {unlisted} is meant"}


@pytest.mark.parametrize(
    ("missing", "unlisted"),
    [
        ("000000000012.jpg", ["000000000013.jpg"]),  # another number is another image
        ("dog.jpg", ["cathedral.jpg"]),
        ("dog.jpg", ["a/dog.jpg", "b/dog.jpg"]),  # which one is unknown
    ],
)
def test_poor_guesses_are_not_made(missing: str, unlisted: list[str]) -> None:
    assert suggest_files([missing], unlisted, {}, {}) == {}


def test_a_path_of_another_computer_is_no_dead_end() -> None:
    table = "image,caption\n/home/anna/photos/a.jpg,A dog .\n"
    files = files_of({"t.csv": table, **pictures("sub/a.jpg")})
    collection = gather(files, files, None, CollectionConfig(), workers=1, progress=silent)
    assert not collection.refused
    details = {problem.kind: problem.detail for problem in collection.problems}
    assert details["ignored-prefix"] == "all names begin with /home/anna/photos/, which is ignored"


def test_many_missing_files_among_many_others_take_no_long_time() -> None:
    missing = [f"{'x' * (n % 50)}-gone.jpg" for n in range(20_000)]
    assert suggest_files(missing, [f"{'y' * (n % 50)}{n // 50 * 'z'}.jpg" for n in range(2000)], {}, {}) == {}


def test_a_coco_image_whose_file_was_renamed_is_hinted_at() -> None:
    captions = (
        '{"images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],'
        ' "annotations": [{"image_id": 1, "caption": "A dog ."}, {"image_id": 2, "caption": "A cat ."}]}'
    )
    files = files_of({"captions.json": captions, **pictures("a.jpg", "holiday.jpg")})
    before = gather(files, files, None, CollectionConfig(), workers=1, progress=silent)
    digest = before.image_info["holiday.jpg"].sha256
    found = gather(
        files,
        files,
        None,
        CollectionConfig(),
        workers=1,
        progress=silent,
        former_digests=lambda paths: dict.fromkeys(paths, digest),
    )
    assert [problem.detail for problem in found.refused] == [
        "no such file: b.jpg; holiday.jpg has the content this file had; it was probably renamed; captions not used: 1"
    ]
