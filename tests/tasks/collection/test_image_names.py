import pytest

from tasks.collection.image_names import is_image


@pytest.mark.parametrize(
    "path",
    [
        "a.jpg",
        "a.JPEG",
        "x/y/a.Png",
        "a.tif",
        "a.tiff",
        "a b#.webp",
        " .jpg.heic",
        "a.pgm",
        "日本.gif",
        "NA.jpg",
    ],
)
def test_images(path: str) -> None:
    assert is_image(path)


@pytest.mark.parametrize(
    "path",
    [
        "a.jpg.1",
        "a.txt",
        "jpg",
        "a.jpg/readme",
        ".a.jpg",
        "._a.jpg",
        ".cache/a.jpg",
        "__MACOSX/a.jpg",
        "Thumbs.db",
    ],
)
def test_not_images(path: str) -> None:
    assert not is_image(path)
