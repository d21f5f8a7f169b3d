import pytest

from tasks.images.signatures import image_type, is_heic
from tests.tasks.images.making import encode, noise


@pytest.mark.parametrize(
    ("format", "kind"),
    [
        ("jpeg", "JPG"),
        ("png", "PNG"),
        ("gif", "GIF"),
        ("bmp", "BMP"),
        ("tiff", "TIFF"),
        ("webp", "WEBP"),
        ("avif", "AVIF"),
        ("heif", "HEIC"),
    ],
)
def test_types_are_known_by_their_first_bytes(format: str, kind: str) -> None:
    data = encode(noise(), format)
    assert image_type(data[:32]) == kind
    assert is_heic(data) == (kind == "HEIC")


@pytest.mark.parametrize("data", [b"", b"BM", b"\xff\xd8\xff", b"8BPS" + bytes(99), b"a dog on a beach, and a cat"])
def test_other_bytes_are_none(data: bytes) -> None:
    assert image_type(data) is None
