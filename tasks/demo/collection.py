"""Writes the demo's collection: drawn scenes with captions, as a Hugging Face imagefolder of three splits."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.collection.records import SPLITS, Split
from tasks.demo.drawing import draw_scene
from tasks.demo.scenes import make_scenes
from tasks.demo.wording import word_captions
from tasks.errors import InputError

_RECORD, _FORMER_RECORD = ".collection.json", "collection.json"  # a hidden file is no part of the collection
_MAKER = {
    "maker": "scenekin demo",
    "version": "1",  # increase when drawings or captions change, so that the collection is created again
    "licence": "Drawn with glyphs of OpenMoji (openmoji.org), CC BY-SA 4.0",
}


def write_collection(folder: Path, count: int = 600, seed: int = 0) -> None:
    """Write `count` scenes to `folder`: 70% train, 15% validation, 15% test.

    An identical, complete collection is left unchanged; another one of the demo's is replaced once the new one is
    complete. Raises InputError if the folder contains anything else.
    """
    record = json.dumps({**_MAKER, "count": count, "seed": seed})
    found = "".join(_text(folder / name) for name in (_RECORD, _FORMER_RECORD))
    if found == record and (folder / _RECORD).is_file() and sum(1 for _ in folder.glob("*/*.jpg")) == count:
        return
    if folder.exists() and _MAKER["maker"] not in found:
        raise InputError(f"{folder} is not the demo's collection; remove it or use another folder.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        complete = Path(temporary) / "complete"
        _write_splits(complete, count, seed)
        (complete / _RECORD).write_text(record, encoding="utf-8")
        if folder.exists():
            folder.rename(Path(temporary) / "former")
        complete.rename(folder)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _write_splits(folder: Path, count: int, seed: int) -> None:
    """Write one folder per split, with JPEG files and `metadata.jsonl`, one line per image."""
    for number, scene in enumerate(make_scenes(count, seed)):
        home = folder / _split(number, count)
        home.mkdir(parents=True, exist_ok=True)
        name = f"{scene.scene_id}.jpg"
        draw_scene(scene).save(home / name, quality=90, subsampling=0)
        with (home / "metadata.jsonl").open("a", encoding="utf-8", newline="\n") as rows:
            rows.write(json.dumps({"file_name": name, "captions": word_captions(scene)}) + "\n")


def _split(number: int, count: int) -> Split:
    """Return the split: of 20 equal parts 14 for train, 3 for validation and 3 for test; scenes have no order."""
    part = 20 * number // count
    return SPLITS[(part >= 14) + (part >= 17)]
