import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.readers.coco import Coco
from tasks.collection.readers.visual_genome import VisualGenome
from tasks.collection.records import Files, Problem, Reading
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures

OBJECTS = CollectionConfig(annotations="objects")


def images_of(*ids: Any, key: str = "image_id", second: range = range(0)) -> list[dict[str, Any]]:
    """Entries of image_data.json; those of `second` are in the second folder."""
    urls = {image_id: f"https://x.org/VG_100K{'_2' * (image_id in second)}/{image_id}.jpg" for image_id in ids}
    return [{key: image_id, "url": urls[image_id], "width": 800, "height": 600} for image_id in ids]


def regions_of(image_id: Any, *phrases: Any, key: str = "id", region_key: str = "region_id") -> dict[str, Any]:
    """An entry of region_descriptions.json with boxes that no picture has, and region ids that all entries share."""
    box = {"image_id": image_id, "x": -2, "y": -904, "width": 0, "height": 20}
    return {key: image_id, "regions": [{**box, "phrase": text, region_key: at} for at, text in enumerate(phrases)]}


def collection(
    images: Any, annotations: Any, *paths: str, name: str = "region_descriptions.json", folder: str = ""
) -> dict[str, str | bytes]:
    """A collection's files by name."""
    lists = {f"{folder}image_data.json": json.dumps(images), f"{folder}{name}": json.dumps(annotations)}
    return {**lists, **pictures(*paths)}


def read(contents: Mapping[str, str | bytes], config: CollectionConfig | None = None) -> Reading:
    files = files_of(contents)
    return read_collection(files, files, config=config)


def texts(reading: Reading) -> dict[str, tuple[str, ...]]:
    return {item.image_id: item.captions for item in reading.items}


DIRTY = collection(
    images_of(*range(100, 110), second=range(108, 110)),
    [
        regions_of(100, "A red house is lying on the snow .", "There is a red house near the snow ."),
        regions_of(101, "A purple ball is lying on the grass .", region_key="id"),
        regions_of(102, "A purple boat is lying on the grass .", "", "   ", "The grass with a boat in front .  \n"),
        regions_of(103, "A orange box is lying on the grass ."),
        regions_of(104, "A black boat is lying on the grass .", key="image_id"),
        regions_of(105, "A yellow boat is lying on the grass ."),
        {"id": 106, "regions": None},
        {"id": 107, "regions": []},
        regions_of(108, "A red boat is lying on the road ."),
        regions_of(109, "A purple house is lying on the road ."),
        regions_of(103, "a second entry with a lantern"),
        regions_of(777, "nobody knows this image", "nor this one", ""),
    ],
    *(f"VG_100K/{image_id}.jpg" for image_id in range(100, 108)),
    *(f"VG_100K_2/{image_id}.jpg" for image_id in (108, 109)),
)


def test_a_dirty_collection_loses_nothing_silently() -> None:
    dirty = collect(files_of(DIRTY))
    assert dirty.format == "visual-genome"
    assert len(dirty.images) == dirty.listed == 10
    by_id = captions(dirty)
    assert sum(map(bool, by_id.values())) == 8
    assert by_id["102"] == ("A purple boat is lying on the grass .", "The grass with a boat in front .")
    assert by_id["103"] == ("A orange box is lying on the grass .", "a second entry with a lantern")
    assert [image.path for image in dirty.images][-2:] == ["VG_100K_2/108.jpg", "VG_100K_2/109.jpg"]
    counts = kinds(dirty)
    assert (counts["empty-caption"], counts["no-caption"], counts["unknown-image"]) == (3, 2, 1)
    assert "bad-row" not in counts
    detail = "image_data.json lists no image with this id; captions not used: 2"
    assert Problem("unknown-image", "777", detail) in dirty.problems
    without_text = {problem.item for problem in dirty.problems if problem.kind == "no-caption"}
    assert without_text == {"106", "107"}


@pytest.mark.parametrize("image_key", ["image_id", "id"])
@pytest.mark.parametrize("entry_key", ["image_id", "id"])
@pytest.mark.parametrize("region_key", ["region_id", "id"])
def test_both_spellings_of_every_key(image_key: str, entry_key: str, region_key: str) -> None:
    regions = [regions_of(1, "A dog .", key=entry_key, region_key=region_key)]
    reading = read(collection(images_of(1, key=image_key), regions, "VG_100K/1.jpg"))
    assert texts(reading) == {"1": ("A dog .",)}
    assert reading.problems == ()


def test_ids_are_kept_as_they_are_written() -> None:
    ids = [2**53, 2**53 + 1, 10**40, "007"]
    reading = read(collection(images_of(*ids), [regions_of(image_id, f"No {image_id}") for image_id in ids]))
    assert texts(reading) == {str(image_id): (f"No {image_id}",) for image_id in ids}


@pytest.mark.parametrize("root", ["", "images/", "a/b/"])
def test_folders_may_be_nested(root: str) -> None:
    contents = collection(
        images_of(1, 2),
        [regions_of(1, "A dog .")],
        *(f"{root}VG_100K/1.jpg", f"{root}VG_100K_2/2.jpg", "thumbnails/1.jpg", "thumbnails/2.jpg"),
        folder="data/",
    )
    contents |= {"data/old/image_data.json": "[]", ".cache/region_descriptions.json": "[]"}
    paths = {item.image_id: item.path for item in read(contents).items}
    assert paths.pop("1") == f"{root}VG_100K/1.jpg"
    assert paths.pop("2") == f"{root}VG_100K_2/2.jpg"
    assert paths == {path: path for path in ("thumbnails/1.jpg", "thumbnails/2.jpg")}


@pytest.mark.parametrize("root", ["", "images/"])
def test_images_may_lie_in_one_folder_of_another_name(root: str) -> None:
    files = files_of(collection(images_of(1, 2), [regions_of(1, "A dog .")]))
    reading = read_collection(files, files_of(pictures(f"{root}1.jpg", f"{root}2.jpg")))
    assert [item.path for item in reading.items] == [f"{root}1.jpg", f"{root}2.jpg"]


def test_of_two_files_of_a_name_the_url_tells_which() -> None:
    images = [*images_of(1, 2, second=range(2, 3)), {"image_id": 3}, {"image_id": 4, "url": "https://x.org/?id=4"}]
    found = [f"{folder}/{number}.jpg" for folder in ("VG_100K", "VG_100K_2") for number in (1, 2, 3)]
    listed = [item.path for item in read(collection(images, [], *found)).items][:4]
    assert listed == ["VG_100K/1.jpg", "VG_100K_2/2.jpg", "VG_100K/3.jpg", "VG_100K/4.jpg"]


def test_what_does_not_fit_is_told_and_the_rest_stays() -> None:
    images = [*images_of(1), None, {"url": "https://x.org/2.jpg"}, {"image_id": True}, {"id": "../../3"}, *images_of(1)]
    regions = [
        *(None, [], {"regions": []}, {"id": 1, "regions": "A cat ."}, {"id": 1}),
        {"id": 1, "regions": [{"phrase": "A dog ."}, None, {"phrase": None}, {"phrase": 5}, {"x": 1}, ["A cat ."]]},
    ]
    contents = collection(images, regions, "VG_100K/1.jpg", "VG_100K/other.jpg", "3.jpg")
    reading = read(contents)
    assert texts(reading) == {"1": (), "../../3": (), "VG_100K/other.jpg": (), "3.jpg": ()}
    assert [item.captions for item in reading.items if item.image_id == "1"] == [("A dog .",), ()]
    told = [(problem.item, problem.detail) for problem in reading.problems if problem.kind == "bad-row"]
    assert [item for item, _ in told] == [
        *(f"image_data.json[{number}]" for number in (1, 2, 3)),
        *(f"region_descriptions.json[{number}]" for number in range(4)),
        *("1", "1", "1"),
    ]
    assert told[-1][1] == "a caption is of type list, not text, and is ignored"
    counts = kinds(collect(files_of(contents)))
    assert (counts["duplicate-id"], counts["outside-collection"]) == (1, 1)


def test_objects_are_counted_by_their_words() -> None:
    objects = [
        {"synsets": ["traffic_light.n.01"], "names": ["stoplight"], "object_id": 1, "x": -3},
        {"synsets": ["tree.n.01"], "names": ["trees"]},
        {"synsets": ["tree.n.01"], "names": ["tree"]},
        {"synsets": [], "names": ["thingamajig"]},
        {"synsets": ["st._bernard.n.01", "dog.n.01"]},
        {"synsets": None, "names": "no list"},
    ]
    contents = collection(images_of(1, 2), [{"image_id": 1, "objects": objects}], "VG_100K/1.jpg", name="objects.json")
    reading = read(contents, OBJECTS)
    assert texts(reading)["1"] == ("traffic light", "tree", "tree", "thingamajig", "st. bernard, dog")
    assert [(problem.kind, problem.item) for problem in reading.problems] == [("bad-row", "1")]
    both = {**contents, "region_descriptions.json": json.dumps([regions_of(1, "A dog .")])}
    assert texts(read(both))["1"] == ("A dog .",)
    assert texts(read(both, OBJECTS)) == texts(reading)
    with pytest.raises(InputError, match=r"No region_descriptions\.json, .* --set collection\.annotations=objects\.$"):
        read(contents)


@pytest.mark.parametrize("name", ["image_data.json", "region_descriptions.json"])
def test_a_truncated_list_is_one_sentence(name: str) -> None:
    contents = {**DIRTY, name: DIRTY[name][:-40]}
    with pytest.raises(InputError, match=rf"^{name} is not a valid JSON list \(entry .*\); it may be truncated\.$"):
        read(contents)


def test_a_byte_order_mark_is_no_text() -> None:
    marked = {path: f"\ufeff{content}" if isinstance(content, str) else content for path, content in DIRTY.items()}
    assert texts(read(marked)) == texts(read(DIRTY))


def test_it_is_read_as_a_stream_and_not_taken_for_coco() -> None:
    class Unread(Files):
        def read(self, path: str) -> bytes:
            raise AssertionError(f"{path} was read whole")

    contents = {**DIRTY, "scene_graphs.json": '{"images": [], "annotations": [], "caption": 1}'}
    files = Unread(sorted(contents), files_of(contents).open)
    assert not Coco().recognises(files)
    assert read_collection(files, files).format == "visual-genome"


@pytest.mark.parametrize(
    "names", [["image_data.json"], ["region_descriptions.json"], ["image_data.json", "._objects.json"], ["a.jpg"]]
)
def test_other_files_are_not_recognised(names: list[str]) -> None:
    def refuse(path: str) -> BinaryIO:
        raise AssertionError(path)

    files = Files(names, refuse)
    assert not VisualGenome().recognises(files)
    with pytest.raises(InputError, match=r"^No (image_data\.json|region_descriptions\.json), .*\.$"):
        VisualGenome().read(files, files, CollectionConfig())


SMALL = collection(
    images_of(1, 2), [regions_of(1, "A dög .", "\u2028 \ud83d\ude00"), regions_of(2, "A cat .")], "VG_100K/1.jpg"
)


@given(
    st.sampled_from(["image_data.json", "region_descriptions.json"]),
    st.lists(st.tuples(st.integers(min_value=0), st.integers(0, 3), st.binary(max_size=4)), min_size=1, max_size=4),
)
def test_damage_is_an_input_error_or_told(name: str, edits: list[tuple[int, int, bytes]]) -> None:
    data = str(SMALL[name]).encode()
    for place, length, new in edits:
        start = place % (len(data) + 1)
        data = data[:start] + new + data[start + length :]
    try:
        outcome = read({**SMALL, name: data}).format
    except InputError as error:
        outcome = str(error)
    assert outcome.startswith((f"{name} is not a valid JSON list", "visual-genome"))
