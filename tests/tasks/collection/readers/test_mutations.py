"""Every reader of text or Parquet, given a small valid collection of which one file was mutated byte by byte."""

import io
import json
import os
import time
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.collection.arrow import caption_table, image_table, problem_table
from tasks.collection.assemble import assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.image_info import ImageInfo, paths_to_inspect
from tasks.collection.records import Files
from tasks.errors import InputError
from tests.tasks.collection.making import files_of

EXAMPLES = int(os.environ.get("SCENEKIN_FUZZ_EXAMPLES", "60"))  # of each format
SECONDS = 20  # far beyond what any takes: a guard against what explodes
IMAGES = {"a.jpg": b"a", "b.jpg": b"b", "0007.jpg": b"c"}
CAPTIONS = {"a.jpg": ['A "brown" dog .', "Un café | noir"], "b.jpg": ["A cat, asleep ."], "0007.jpg": ["NA"]}
PAIRS = [(name, caption) for name, captions in CAPTIONS.items() for caption in captions]


def tokens() -> str:
    return "".join(f"{name}#{number}\t{caption}\n" for number, (name, caption) in enumerate(PAIRS))


def piped() -> str:
    rows = (f"{name}| {number}| {caption}\n" for number, (name, caption) in enumerate(PAIRS))
    return "image_name| comment_number| comment\n" + "".join(rows)


def separated(delimiter: str, image: str) -> str:
    quoted = ((name, '"' + caption.replace('"', '""') + '"') for name, caption in PAIRS)
    return "".join(delimiter.join(row) + "\r\n" for row in [(image, "caption"), *quoted])


def jsonl(image: str) -> str:
    return "".join(json.dumps({image: name, "caption": captions}) + "\n" for name, captions in CAPTIONS.items())


def parquet(image: str) -> bytes:
    columns = {image: list(CAPTIONS), "caption": list(CAPTIONS.values()), "embedding": [[0.5], [1.5], [2.5]]}
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def coco() -> str:
    ids = {name: number for number, name in enumerate(CAPTIONS)}
    return json.dumps(
        {
            "images": [{"id": number, "file_name": name} for name, number in ids.items()],
            "annotations": [{"image_id": ids[name], "caption": caption} for name, caption in PAIRS],
        }
    )


def karpathy() -> str:
    entries = [
        {"filename": name, "split": "train", "sentences": [{"raw": caption} for caption in captions]}
        for name, captions in CAPTIONS.items()
    ]
    return json.dumps({"images": entries})


def listed_json() -> str:
    return json.dumps([{"image": name, "caption": captions} for name, captions in CAPTIONS.items()])


def takeout() -> str:
    return json.dumps({"title": "a.jpg", "description": CAPTIONS["a.jpg"], "photoTakenTime": {"timestamp": "1"}})


def parquet_of_images() -> bytes:
    stream = io.BytesIO()
    cells = [{"bytes": b"\xff\xd8", "path": name} for name in CAPTIONS]
    pq.write_table(pa.table({"image": cells, "caption": list(CAPTIONS.values())}), stream)
    return stream.getvalue()


def listing() -> str:
    return json.dumps(
        [{"image_id": number, "url": f"https://x/VG_100K/{name}"} for number, name in enumerate(CAPTIONS)]
    )


def regions() -> str:
    phrases = ([{"phrase": caption} for caption in captions] for captions in CAPTIONS.values())
    return json.dumps([{"id": number, "regions": found} for number, found in enumerate(phrases)])


FORMATS: dict[str, tuple[str, str, str | bytes]] = {  # format, the file that is mutated, its content
    "flickr8k-token": ("flickr8k", "Flickr8k.token.txt", tokens()),
    "flickr8k-table": ("flickr8k", "captions.txt", separated(",", "image")),
    "flickr8k-splits": ("flickr8k", "Flickr_8k.trainImages.txt", "\n".join(IMAGES)),
    "flickr30k-csv": ("flickr30k", "results.csv", piped()),
    "flickr30k-token": ("flickr30k", "results_20130124.token", tokens()),
    "flickr30k-splits": ("flickr30k", "train.txt", "a\nb"),
    "coco": ("coco", "captions.json", coco()),
    "karpathy": ("karpathy", "dataset.json", karpathy()),
    "google-takeout": ("google-takeout", "a.jpg.json", takeout()),
    "visual-genome-images": ("visual-genome", "image_data.json", listing()),
    "visual-genome-regions": ("visual-genome", "region_descriptions.json", regions()),
    "imagefolder-jsonl": ("imagefolder", "metadata.jsonl", jsonl("file_name")),
    "imagefolder-csv": ("imagefolder", "metadata.csv", separated(",", "file_name")),
    "imagefolder-parquet": ("imagefolder", "metadata.parquet", parquet("file_name")),
    "table-csv": ("table", "t.csv", separated(";", "image")),
    "table-tsv": ("table", "t.tsv", separated("\t", "image")),
    "table-jsonl": ("table", "t.jsonl", jsonl("image")),
    "table-txt": ("table", "t.txt", separated("|", "image")),
    "table-json": ("table", "t.json", listed_json()),
    "table-utf16": ("table", "t.csv", separated(",", "image").encode("utf-16-le")),
    "table-parquet": ("table", "t.parquet", parquet("image")),
    "sidecar": ("sidecar", "a.txt", "\n".join(CAPTIONS["a.jpg"])),
}
BESIDE = {  # the rest of a collection of several files
    "flickr8k-splits": {"Flickr8k.token.txt": tokens(), "Flickr_8k.testImages.txt": "b.jpg"},
    "flickr30k-splits": {"results.csv": piped(), "test.txt": "0007"},
    "visual-genome-images": {"region_descriptions.json": regions()},
    "visual-genome-regions": {"image_data.json": listing()},
}

Mutation = Callable[[bytes, int, bytes], bytes]
MUTATIONS: Sequence[Mutation] = (
    lambda data, at, new: data[:at] + bytes([byte ^ new[0] for byte in data[at : at + 1]]) + data[at + 1 :],  # flip
    lambda data, at, new: data[:at] + data[at + len(new) :],  # delete
    lambda data, at, new: data[:at] + new + data[at:],  # insert
    lambda data, at, new: data[:at],  # noqa: ARG005 (truncate)
    lambda data, at, new: data[:at] + data[at : at + 9 * len(new)] * new[0] + data[at:],  # duplicate
)
STEPS = st.lists(
    st.tuples(st.sampled_from(MUTATIONS), st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4
)


@pytest.mark.parametrize("name", FORMATS)
def test_a_mutated_file_is_read_or_refused_in_a_sentence(name: str) -> None:
    format, path, content = FORMATS[name]
    valid = content.encode() if isinstance(content, str) else content
    beside: dict[str, str | bytes] = {**BESIDE.get(name, {}), **IMAGES}
    untouched = read_collection(files_of({**beside, path: valid}), files_of(IMAGES))
    assert untouched.format == format
    assert {item.path: list(item.captions) for item in untouched.items}["a.jpg"] == CAPTIONS["a.jpg"]

    try_mutations(path, valid, beside, format)


def test_a_mutated_file_with_images_is_read_or_refused_in_a_sentence() -> None:
    try_mutations("train.parquet", parquet_of_images(), {}, "parquet-images")


def try_mutations(path: str, valid: bytes, beside: dict[str, str | bytes], format: str) -> None:
    """Read many mutations of one file of a collection, with the format named and detected."""

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(STEPS)
    def try_one(steps: list[tuple[Mutation, float, bytes]]) -> None:
        data = valid
        for mutate, place, new in steps:
            data = mutate(data, int(place * len(data)), new)
        files = files_of({**beside, path: data})
        for chosen in (format, None):
            started = time.process_time()
            read_all(files, chosen)
            assert time.process_time() - started < SECONDS

    try_one()


def read_all(files: Files, format: str | None) -> None:
    """Read and assembled as far as without pictures; listed = usable + refused."""
    try:
        reading = read_collection(files, files, format)
    except InputError as error:
        str(error).encode()  # or it could not be printed
        return
    infos = {path: ImageInfo(path, 1, 1) for path in paths_to_inspect(reading, files)}
    collection = assemble(reading, infos, CollectionConfig())
    assert collection.listed == len(collection.images) + len(collection.refused)
    for table in (image_table(collection), caption_table(collection), problem_table(collection)):
        table.validate(full=True)
