import hashlib

from PIL import ExifTags, Image

from tasks.collection.image_info import ImageInfo, inspect_file, inspect_image, paths_to_inspect
from tasks.collection.near_duplicates import fingerprint_of
from tasks.collection.records import Item, Reading
from tasks.images.decode import decode
from tests.tasks.collection.making import files_of, picture
from tests.tasks.images.making import encode, flat, noise


def test_a_picture() -> None:
    data = picture(size=(5, 2))
    fingerprint = fingerprint_of(decode(data))
    assert inspect_image(data) == ImageInfo(hashlib.sha256(data).hexdigest(), 5, 2, fingerprint=fingerprint)


def test_a_large_jpeg_is_decoded_in_part_and_told_in_full() -> None:
    for value, size in ((1, (800, 600)), (6, (600, 800))):
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = value
        info = inspect_image(encode(flat("navy", 800, 600), "jpeg", exif=exif))
        assert (info.width, info.height) == size
    with_end_cut = encode(noise(800, 600), "jpeg")[:-2000]
    assert "truncated" in (inspect_image(with_end_cut).problem or "")


def test_what_is_no_picture_has_a_reason() -> None:
    whole = picture(size=(90, 90))
    for data in (b"", b"text", whole[: len(whole) // 2]):
        info = inspect_image(data)
        assert info.problem
        assert (info.sha256, info.width, info.height) == (hashlib.sha256(data).hexdigest(), 0, 0)


def test_a_file_that_is_gone_or_closed_to_us() -> None:
    def closed(path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    files = files_of({"a.png": picture()})
    assert inspect_file("a.png", files.read) == inspect_image(picture())
    assert inspect_file("b.png", files.read) is None
    assert inspect_file("a.png", closed) == ImageInfo("", 0, 0, "cannot be read: Permission denied")


def test_only_what_lies_below_the_root_is_looked_at() -> None:
    items = [Item(path, path) for path in ("b.jpg", "/etc/passwd", "../x.jpg", "gone.jpg", "a.jpg")]
    items.append(Item("again", "b.jpg"))
    files = files_of({"a.jpg": b"", "b.jpg": b"", "unlisted.jpg": b""})
    assert paths_to_inspect(Reading("coco", items), files) == ["a.jpg", "b.jpg"]
