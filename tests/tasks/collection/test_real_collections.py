"""The shared data and cases, where they are at hand."""

import json
import tarfile
import time
from collections import Counter
from pathlib import Path

import pytest

from storage.source.tree import Source
from tasks.collection.assemble import Collection, assemble
from tasks.collection.check import summary
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.image_info import ImageInfo, paths_to_inspect
from tasks.collection.records import Problem
from tests.shared import ROOT, with_shared
from tests.shared import case as input_of
from tests.tasks.collection.making import captions, collect, files_in, files_of, gathered, kinds

pytestmark = with_shared


def case(number: str) -> Collection:
    return collect(files_in(input_of(number)))


def test_flickr8k() -> None:
    files = files_in(ROOT / "data" / "flickr8k")
    started = time.monotonic()
    reading = read_collection(files, files)
    assert time.monotonic() - started < 2
    infos = {path: ImageInfo(path, 224, 224) for path in paths_to_inspect(reading, files)}
    collection = assemble(reading, infos, CollectionConfig())
    counts = summary(collection)
    assert (counts["usable"], counts["captions"]) == (8091, 40455)
    assert counts["splits"] == {"train": 6000, "validation": 1000, "test": 1000}
    assert counts["problem_counts"] == {"missing-image": 1, "no-split": 91}
    detail = "no such file: Images/2258277193_586949ec62.jpg.1; captions not used: 5"
    assert Problem("missing-image", "2258277193_586949ec62.jpg.1", detail, 6731) in collection.problems


def test_coco_mini() -> None:
    counts = summary(collect(files_in(ROOT / "data" / "coco_mini")))
    assert (counts["format"], counts["usable"], counts["captions"]) == ("coco", 338, 1690)
    assert counts["problems"] == []


def test_captions_for_a_name_that_is_no_file() -> None:
    collection = case("F02")
    assert kinds(collection) == {"bad-row": 1, "missing-image": 1, "no-caption": 1}
    assert sum(bool(image.captions) for image in collection.images) == 6
    told = {problem.item: problem.detail for problem in collection.problems}
    assert told["2200000193_580000ec62.jpg.1"].endswith("captions not used: 5")
    assert "Flicker8k_Dataset/extra_nocaption.jpg" in told


def test_windows_1252_table() -> None:
    collection = case("F04")
    texts = [caption for image in collection.images for caption in image.captions]
    assert len(collection.images) == 5
    assert len(texts) == 15
    assert "A café with a naïve façade – open at noon ." in texts
    assert "A man said “stop”, then he ran, fell, and laughed ." in texts
    assert "First line of a caption\nsecond line of it ." in texts
    assert kinds(collection) == {"encoding-fallback": 1}


def unpacked(number: str, folder: Path) -> Path:
    """The archive of a case, unpacked as far as this system can hold its names."""
    (archive,) = (ROOT / "cases").glob(f"{number}-*/input/*.tar")
    with tarfile.open(archive) as members:
        members.extractall(folder, filter="fully_trusted")
    return folder / archive.stem


def test_awkward_names(tmp_path: Path) -> None:
    folder = unpacked("F12", tmp_path)
    collection = gathered(Source(str(folder)))
    assert [problem.kind for problem in collection.refused] == ["bad-name"]
    assert (collection.listed, len(collection.images)) == (27, 26)
    assert all(image.captions and (folder / image.path).is_file() for image in collection.images)
    assert {"cat.jpg", "cat.png", "a/same.jpg", "b/same.jpg", "-rf.jpg"} <= captions(collection).keys()


def test_links(tmp_path: Path) -> None:
    folder = unpacked("F13", tmp_path)
    collection = gathered(Source(str(folder)))
    assert {"dangling.jpg": "dead-link", "self": "dead-link"}.items() <= {
        problem.item: problem.kind for problem in collection.problems
    }.items()
    assert {"linkdir/", "real/loop/"} == {
        problem.item for problem in collection.problems if problem.kind == "repeated-folder"
    }
    assert [image.image_id for image in collection.images] == ["alias.jpg", *(f"real/i{n}.jpg" for n in range(4))]
    split_of = {image.image_id: image.split for image in collection.images}
    assert split_of["alias.jpg"] == split_of["real/i0.jpg"]


def test_everything_in_a_table_is_text() -> None:
    by_id = captions(case("F15"))
    assert len(by_id) == 10
    assert by_id["0007.jpg"] == ("A number seven in white .",)
    assert by_id["7.jpg"] == ("Another seven in black .",)
    assert {"NA", "null", "nan", "inf", "12", "True", "1e5", "-"} <= {text for (text,) in by_id.values()}


def test_odd_captions() -> None:
    collection = case("F16")
    assert len(collection.images) == 24
    told = {kind: count for kind, count in kinds(collection).items() if not kind.startswith("near-duplicate")}
    assert told == {"empty-caption": 2, "lone-surrogate": 1, "no-caption": 3}
    assert captions(collection)["ent_a.jpg"] == ("Salt &amp; Pepper&#39;s red house &lt;3",)


def test_imagefolder() -> None:
    collection = case("F26")
    by_id = captions(collection)
    assert by_id["train/a.jpg"] == ("A ball on the lawn .", "The same ball again .")
    assert by_id["train/d.jpg"] == ("First caption .", "Second caption .")
    assert by_id["train/sub/b.jpg"] == ("A box on a road .",)
    assert by_id["test/t0.jpg"] == ("From the jsonl .",)
    assert [(problem.kind, problem.item, problem.line) for problem in collection.problems] == [
        ("bad-row", "train/metadata.jsonl", 6),
        ("caption-column", "val/metadata.csv", None),
        ("duplicate-id", "test/t0.jpg", 4),
        ("no-caption", "test/t1.jpg", None),
        ("no-caption", "train/lonely.jpg", None),
        ("outside-collection", "/etc/hostname", 5),
        ("unused-file", "test/metadata.csv", None),
    ]


def test_visual_genome() -> None:
    collection = case("F20")
    by_id = captions(collection)
    assert collection.format == "visual-genome"
    assert (len(by_id), sum(map(bool, by_id.values()))) == (10, 8)
    assert len(by_id["103"]) == 5
    assert by_id["103"][-1] == "a second entry with a lantern"
    assert {image.path for image in collection.images} >= {"VG_100K_2/108.jpg", "VG_100K_2/109.jpg"}
    told = [(problem.kind, problem.item) for problem in collection.problems if "near-duplicate" not in problem.kind]
    assert told == [
        *(("empty-caption", "102"), ("empty-caption", "102"), ("no-caption", "106"), ("no-caption", "107")),
        ("unknown-image", "777"),
    ]


@pytest.mark.parametrize(
    ("variant", "name", "used", "told"),
    [
        ("Karan14-11_space_instead_of_tab_head200.txt", "Flickr8k.token.txt", 197, {"bad-row": 3}),
        ("edwardcruzcruz_appended_foreign_lines_tail520.txt", "Flickr8k.token.txt", 520, {}),
        ("prakhar-dhakar_handfixed_lines_6727-6737.txt", "Flickr8k.token.txt", 11, {}),
        ("kaggle_captions.txt_head2000.csv", "captions.txt", 1999, {}),
    ],
)
def test_copies_of_flickr8k_as_people_have_them(variant: str, name: str, used: int, told: dict[str, int]) -> None:
    data = (ROOT / "data" / "imperfect" / "flickr8k_variants" / variant).read_bytes()
    files = files_of({name: data})
    reading = read_collection(files, files)
    infos = {item.path: ImageInfo(item.path, 1, 1) for item in reading.items}
    collection = assemble(reading, infos, CollectionConfig())
    assert sum(len(image.captions) for image in collection.images) == used
    assert kinds(collection) == told


def test_flickr30k() -> None:
    collection = case("F01")
    by_id = captions(collection)
    assert collection.format == "flickr30k"
    assert [len(texts) for texts in by_id.values()] == [5] * 6
    assert by_id["flickr30k_images/1000000002.jpg"][1:3] == ("None", "NA")
    assert by_id["flickr30k_images/1000000003.jpg"][1] == '"A sign says stop near the sea .'
    assert by_id["flickr30k_images/1000000004.jpg"][4] == "A brown dog crosses the lawn ."
    assert by_id["flickr30k_images/1000000005.jpg"][2] == "A red | white flag above the box ."
    told = [(problem.kind, problem.line) for problem in collection.problems if "near-duplicate" not in problem.kind]
    assert told == [("repaired-row", 21)]


def test_names_and_captions_of_a_table_are_text() -> None:
    (folder,) = (ROOT / "cases").glob("F15-*/input")
    files = files_in(folder)
    table, metadata = (read_collection(files, files, format) for format in ("table", "imagefolder"))
    assert len({item.image_id for item in table.items}) == 10
    assert {item.path: item.captions for item in table.items} == {item.path: item.captions for item in metadata.items}
    assert [problem.kind for problem in table.problems] == ["caption-column"]


def test_variants_of_a_picture_are_grouped_and_leaks_are_named() -> None:
    collection = case("F18")
    groups = json.loads((input_of("F18").parent / "groups.json").read_text())
    split_of = {image.image_id: image.split for image in collection.images}
    assert len(split_of) == 48
    told = {problem.item: problem for problem in collection.problems}
    assert kinds(collection)["copy"] == 8
    for names in groups.values():
        for place, name in enumerate(sorted(names)):
            earlier = sorted(names)[:place]
            crosses = any(split_of[other] != split_of[name] for other in earlier)
            assert bool(earlier) <= (name in told)
            assert not crosses or told[name].kind in {"near-duplicate-across-splits", "copy"}  # its twin tells the leak


@pytest.mark.parametrize(
    ("variant", "train", "told"),
    [
        ("CRamyasree_trainImages_CRLF_no_final_newline.txt", 6000, {}),
        ("nitishhrms_trainImages_one_duplicated_one_missing.txt", 5999, {}),
    ],
)
def test_split_lists_as_people_have_them(variant: str, train: int, told: dict[str, int]) -> None:
    flickr8k = files_in(ROOT / "data" / "flickr8k")
    lists = {path: flickr8k.read(path) for path in flickr8k.paths if path.endswith(".txt")}
    (replaced,) = (path for path in lists if path.endswith("Flickr_8k.trainImages.txt"))
    lists[replaced] = (ROOT / "data" / "imperfect" / "flickr8k_variants" / variant).read_bytes()
    reading = read_collection(files_of(lists), flickr8k, "flickr8k")
    assert sum(item.split == "train" for item in reading.items) == train
    assert Counter(problem.kind for problem in reading.problems) == told
