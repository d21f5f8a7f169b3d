"""`scenekin explain`, and `scenekin search --explain`."""

import errno
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from scenekin import Searcher
from tasks.images.decode import decode
from tasks.search.heat import overlay
from tests.command import Outcome, scenekin
from tests.trained import Trained

PAIRS = (
    *(("white.png", "black.png"), ("white.png", "white.png"), ("mean_grey.png", "kite_200x80.png")),
    *(("kite_200x80.png", "kite_80x200.png"), ("kite_101x67.png", "halves.png"), ("one_pixel_off.png", "white.png")),
)


@pytest.fixture(scope="module")
def searcher(trained: Trained) -> Searcher:
    return Searcher.open(trained.workspace)


@pytest.fixture
def two(searcher: Searcher) -> tuple[str, str]:
    """Ids of two images that are indexed."""
    return searcher.image_ids[10], searcher.image_ids[60]


@pytest.fixture(autouse=True)
def without_numpy_s_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def explain(trained: Trained, *arguments: object) -> Outcome:
    return scenekin("explain", *arguments, "--workspace", trained.workspace)


def shown(file: Path) -> Image.Image:
    """A picture that was written, decoded in full."""
    with Image.open(file) as image:
        assert image.format == "PNG"
        return image.convert("RGB")


def test_the_answer_is_as_promised(trained: Trained, searcher: Searcher, two: tuple[str, str], tmp_path: Path) -> None:
    answer = explain(trained, *two, "--out", tmp_path / "why.png", "--json").answer
    assert answer.keys() == {"score", "dimensions", "evidence", "evidence_a", "evidence_b", "picture"}
    assert answer["picture"] == str(tmp_path / "why.png")
    assert [dimension.keys() for dimension in answer["dimensions"]] == 5 * [{"index", "contribution"}]
    explanation = searcher.explain(*two)
    assert answer["score"] == pytest.approx(explanation.score, abs=1e-6)
    assert (answer["evidence_a"], answer["evidence_b"]) == (explanation.evidence_a, explanation.evidence_b)
    assert answer["evidence"] == explanation.evidence


def test_the_picture_shows_both_under_their_maps(
    trained: Trained, searcher: Searcher, two: tuple[str, str], tmp_path: Path
) -> None:
    explain(trained, *two, "--out", tmp_path / "why.png", "--json")
    sheet, explanation = np.asarray(shown(tmp_path / "why.png")), searcher.explain(*two)
    left = 16
    for image_id, map_HW in zip(two, (explanation.map_a_HW, explanation.map_b_HW), strict=True):
        expected = np.asarray(overlay(decode(searcher.read_indexed(image_id)), map_HW))
        height, width, _ = expected.shape
        np.testing.assert_array_equal(sheet[64 : 64 + height, left : left + width], expected)
        left += width + 16


def test_people_are_told_in_lines(trained: Trained, searcher: Searcher, two: tuple[str, str], tmp_path: Path) -> None:
    lines = explain(trained, *two, "--out", tmp_path / "why.PNG").out.splitlines()
    explanation = searcher.explain(*two)
    assert lines[0] == f"Similarity {explanation.score:z.3f}; picture written to {tmp_path / 'why.PNG'}"
    evident = explanation.evidence_a, explanation.evidence_b
    assert lines[1:] == [f"No evidence found in {two[side]}" for side in (0, 1) if not evident[side]]


def kite(width: int, height: int) -> Image.Image:
    """A kite over grass."""
    image = Image.new("RGB", (width, height), (150, 180, 210))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0.7 * height, width, height), (90, 140, 70))
    draw.polygon(
        [(0.3 * width, 0.1 * height), (0.45 * width, 0.3 * height), (0.3 * width, 0.6 * height)], (220, 60, 40)
    )
    return image.filter(ImageFilter.GaussianBlur(1))


@pytest.fixture
def flat_and_nonsquare(tmp_path: Path) -> Path:
    """The pictures of case F27."""
    colours = {"white": (255, 255, 255), "black": (0, 0, 0), "mean_grey": (124, 116, 104)}
    pictures = {name: Image.new("RGB", (128, 96), colour) for name, colour in colours.items()}
    pictures["one_pixel_off"] = pictures["white"].copy()
    pictures["one_pixel_off"].putpixel((100, 20), (0, 0, 0))
    pictures["halves"] = Image.new("RGB", (128, 96), (250, 20, 20))
    pictures["halves"].paste((20, 20, 250), (64, 0, 128, 96))
    pictures |= {f"kite_{w}x{h}": kite(w, h) for w, h in ((200, 80), (80, 200), (101, 67))}
    for name, picture in pictures.items():
        picture.save(tmp_path / f"{name}.png")
    return tmp_path


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_flat_and_nonsquare_pictures(
    trained: Trained, searcher: Searcher, flat_and_nonsquare: Path, a: str, b: str
) -> None:
    """Case F27."""
    files = flat_and_nonsquare / a, flat_and_nonsquare / b
    before = [searcher.embed(file) for file in files]
    explanation, again = (searcher.explain(*files) for _ in range(2))
    for file, map_HW, same_HW in zip(
        files, (explanation.map_a_HW, explanation.map_b_HW), (again.map_a_HW, again.map_b_HW), strict=True
    ):
        assert np.isfinite(map_HW).all()
        assert 0 <= map_HW.min() <= map_HW.max() <= 1
        picture = decode(file.read_bytes())
        assert (map_HW.shape[0] > map_HW.shape[1]) == (picture.height > picture.width)
        assert overlay(picture, map_HW).size == picture.size
        np.testing.assert_array_equal(map_HW, same_HW)
    for file, embedding_D in zip(files, before, strict=True):
        np.testing.assert_array_equal(searcher.embed(file), embedding_D)
    out = flat_and_nonsquare / "why.png"
    answer = explain(trained, *files, "--out", out, "--json").answer
    assert answer["evidence_a"] == bool(explanation.map_a_HW.any())
    assert answer["evidence_b"] == bool(explanation.map_b_HW.any())
    assert answer["evidence"] == (answer["evidence_a"] or answer["evidence_b"])
    sizes = [decode(file.read_bytes()).size for file in files]
    assert shown(out).height == 64 + max(height for _, height in sizes) + 16


def test_large_pictures_are_shrunk(trained: Trained, two: tuple[str, str], tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    Image.effect_noise((2600, 1300), 60).convert("RGB").save(tmp_path / "large.jpg", exif=exif)
    explain(trained, tmp_path / "large.jpg", two[0], "--out", tmp_path / "why.png", "--json")
    assert shown(tmp_path / "why.png").height == 64 + 1024 + 16


# Where a picture cannot be written.


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("none/why.png", "Cannot write none/why.png: No such file or directory."),
        ("folder.png", "Cannot write folder.png: Is a directory."),
        ("file/why.png", "Cannot write file/why.png: Not a directory."),
    ],
)
def test_a_wrong_place_is_named(
    trained: Trained, two: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.png").mkdir()
    Path("file").touch()
    assert explain(trained, *two, "--out", out).sentence == f"scenekin: {words}"
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "file", tmp_path / "folder.png"]


def test_another_kind_of_picture_is_wrong_usage(trained: Trained, two: tuple[str, str]) -> None:
    assert "Cannot write why.jpg: the name must end in .png." in explain(trained, *two, "--out", "why.jpg").usage_error


def test_a_picture_is_written_whole_or_not_at_all(
    trained: Trained, two: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "why.png").write_text("the old one")

    def full_disk(_: Image.Image, file: Path, *__: Any, **___: Any) -> None:
        Path(file).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full_disk)
    sentence = explain(trained, *two, "--out", tmp_path / "why.png").sentence
    assert sentence == f"scenekin: Cannot write {tmp_path / 'why.png'}: No space left on device."
    assert [path.name for path in tmp_path.iterdir()] == ["why.png"]
    assert (tmp_path / "why.png").read_text() == "the old one"


def test_images_that_cannot_be_used_are_named(trained: Trained, two: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("hello")
    for image, words in (
        ("nobody", "No such file or image in the index 'main': 'nobody'."),
        (tmp_path / "text.jpg", "text.jpg': not an image, or of an unknown type"),
    ):
        assert words in explain(trained, image, two[0], "--out", tmp_path / "why.png").sentence
    assert not (tmp_path / "why.png").exists()


# Beside a list of results.


def search(trained: Trained, *arguments: object) -> Outcome:
    return scenekin("search", *arguments, "--workspace", trained.workspace)


def test_each_result_gets_its_picture(trained: Trained, two: tuple[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    answer = search(trained, "--id", two[0], "--top", 3, "--explain", folder, "--json").answer
    assert answer["refused"] == []
    ids = [result["image_id"] for result in answer["results"]]
    assert ids[0] == two[0]
    assert [(told["rank"], told["image_id"]) for told in answer["explanations"]] == [*enumerate(ids, start=1)]
    pictures = [Path(told["picture"]) for told in answer["explanations"]]
    assert sorted(folder.iterdir()) == pictures
    assert [file.name for file in pictures] == [
        f"{rank:03}-{image_id.replace('/', '_')}.png" for rank, image_id in enumerate(ids, start=1)
    ]
    for told, result in zip(answer["explanations"], answer["results"], strict=True):
        assert told["score"] == pytest.approx(result["score"], abs=2e-3)
        shown(Path(told["picture"]))


def test_a_result_that_is_gone_is_listed_and_the_others_go_on(
    trained_copy: Trained, searcher: Searcher, two: tuple[str, str], tmp_path: Path
) -> None:
    query = tmp_path / "query.jpg"
    query.write_bytes(searcher.read_indexed(two[0]))
    _, gone, broken, *_ = searcher.search(query, top=5)
    here = Searcher.open(trained_copy.workspace)
    manifest = next((trained_copy.workspace / "index" / "main").glob("*/manifest.json"))
    manifest.write_text(manifest.read_text().replace(here.manifest.images_root, str(trained_copy.collection)))
    (trained_copy.collection / gone.path).unlink()
    (trained_copy.collection / broken.path).write_text("hello")
    outcome = search(trained_copy, query, "--top", 5, "--explain", tmp_path / "why", "--json")
    assert [refusal["item"] for refusal in outcome.answer["refused"]] == [gone.image_id, broken.image_id]
    assert "No such file or directory" in outcome.answer["refused"][0]["reason"]
    assert "has changed since the index 'main' was made" in outcome.answer["refused"][1]["reason"]
    assert [told["rank"] for told in outcome.answer["explanations"]] == [1, 4, 5]
    lines = search(trained_copy, query, "--top", 5, "--explain", tmp_path / "why").out.splitlines()
    assert lines[5] == f"3 explanations written to {tmp_path / 'why'}"
    assert lines[6].startswith(f"  refused {gone.image_id}: ")


def test_awkward_ids_name_files_all_the_same(
    searcher: Searcher, two: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from scenekin.commands.explain import explain_results

    result = searcher.search(image_id=two[0], top=1)[0]
    image = searcher.read_indexed(two[0])
    monkeypatch.setattr(searcher, "read_indexed", lambda _: image)
    ids = ["../../etc/passwd", "a b\n*?.jpg", "犬" * 300, "\udcff.jpg", ".."]
    results = [replace(result, rank=rank, image_id=image_id) for rank, image_id in enumerate(ids, start=1)]
    answer = explain_results(searcher, image, results, tmp_path / "why")
    assert len(answer["explanations"]) == len(list((tmp_path / "why").iterdir())) == len(ids)
    assert [path.name for path in tmp_path.iterdir()] == ["why"]


def test_a_place_that_is_no_folder_or_a_text_is_refused(trained: Trained, two: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder, words in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "in", "Not a directory")):
        sentence = search(trained, "--id", two[0], "--explain", folder).sentence
        assert sentence == f"scenekin: Cannot make the folder {folder}: {words}."
    assert (tmp_path / "file").read_text() == "mine"
    sentence = search(trained, "--text", "a dog", "--explain", tmp_path / "why").usage_error
    assert "--explain needs a single image, given as a file or with --id, and no --out." in sentence
