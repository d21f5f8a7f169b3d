from pathlib import Path

from storage.source.tree import Source
from tasks.collection.other_files import MAX_OPENED, other_files
from tests.tasks.collection.making import gathered, picture, pictures


def test_every_file_is_an_image_read_or_named(tmp_path: Path) -> None:
    names = [*(f"DSC_{n}.NEF" for n in range(6)), "x.jxl", "plan.psd", "clip.MOV", "notes.txt", "more.txt", "list.json"]
    contents = {name: b"II*\0" * name.endswith(".NEF") + bytes(40) for name in names}
    contents |= {"scan0001": picture(size=(90, 90)), "E1x.jpg_large": picture("blue", (90, 90))}
    contents |= {".hidden": b"", "captions.csv": b"image,caption\na.jpg,A dog .\n", **pictures("a.jpg")}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    collection = gathered(Source(str(tmp_path)))
    assert collection.format == "table"
    named = {problem.item: problem.detail for problem in collection.problems if problem.kind == "ignored-file"}
    assert named == {
        "*.nef": "6 files, such as DSC_0.NEF: camera raw files are not supported; convert them to JPEG or TIFF",
        "*.txt": "2 files, such as more.txt: neither an image nor a file that is read in this format",
        "E1x.jpg_large": "a PNG image by its content; rename it to E1x.jpg_large.png to include it",
        "clip.MOV": "videos are not supported",
        "list.json": "not used in this format; to use it, give it as the collection",
        "plan.psd": "this file type is not supported; convert to JPEG, PNG or TIFF",
        "scan0001": "a PNG image by its content; rename it to scan0001.png to include it",
        "x.jxl": "this file type is not supported; convert to JPEG, PNG or TIFF",
    }


def test_few_files_are_opened() -> None:
    opened: list[str] = []
    names = [f"{number}.part" for number in range(5000)]
    (problem,) = other_files([*names, "a.jpg"], [], [], lambda path: opened.append(path) or b"")
    assert problem.detail.startswith("5,000 files, such as 0.part")
    assert len(opened) == MAX_OPENED
