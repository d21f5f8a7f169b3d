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
        "new\nline.jpg",
        "Thumbs.jpg",
        "#1/a.jpg",
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
        "desktop.ini",
        ".DS_Store",
        "x/.DS_Store",
        ".@__thumb/a.jpg",
        "x/@eaDir/a.jpg/SYNOPHOTO_THUMB_XL.jpg",
        "x/SYNOFILE_THUMB_M.png",
        "#recycle/a.jpg",
        "$RECYCLE.BIN/a.jpg",
        "a.jpg@SynoEAStream",
        "a.jpg:Zone.Identifier",
    ],
)
def test_not_images(path: str) -> None:
    assert not is_image(path)
