import json
import os
import struct
import tracemalloc
import zlib
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tasks.images.decode import MAX_PIXELS, UnreadableImage, decode, decode_reduced
from tests.shared import DATA, case, with_shared
from tests.tasks.images.making import encode, flat, noise, photograph

PILLOW_FILES = DATA / "imperfect" / "pillow_tests"

ORIENTATION = 0x0112
# How pixels are stored so that they show upright, by what the EXIF standard says of row 0 and column 0.
STORED = {
    1: lambda shown: shown,  # top, left
    2: lambda shown: shown[:, ::-1],  # top, right
    3: lambda shown: shown[::-1, ::-1],  # bottom, right
    4: lambda shown: shown[::-1],  # bottom, left
    5: lambda shown: shown.swapaxes(0, 1),  # left, top
    6: lambda shown: shown[:, ::-1].swapaxes(0, 1),  # right, top
    7: lambda shown: shown[::-1, ::-1].swapaxes(0, 1),  # right, bottom
    8: lambda shown: shown[::-1].swapaxes(0, 1),  # left, bottom
}


def rgb(data: bytes) -> np.ndarray:
    image = decode(data)
    assert image.mode == "RGB"
    return np.asarray(image).astype(int)


def with_orientation(image: Image.Image, value: int, format: str = "png") -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = value
    return encode(image, format, exif=exif)


@pytest.mark.parametrize("value", STORED)
@pytest.mark.parametrize("format", ["png", "tiff"])
def test_every_exif_orientation_shows_the_same_picture(value: int, format: str) -> None:
    shown = np.asarray(noise())
    stored = Image.fromarray(np.ascontiguousarray(STORED[value](shown)))
    np.testing.assert_array_equal(rgb(with_orientation(stored, value, format)), shown)


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_an_orientation_that_means_nothing_is_ignored(value: int) -> None:
    np.testing.assert_array_equal(rgb(with_orientation(noise(), value)), np.asarray(noise()))


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_damaged_exif_counts_as_none() -> None:
    data = encode(noise(), exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01")
    np.testing.assert_array_equal(rgb(data), np.asarray(noise()))


@pytest.mark.parametrize("mode", ["1", "L"])
def test_grey_fills_three_channels(mode: str) -> None:
    grey = noise().convert(mode)
    np.testing.assert_array_equal(rgb(encode(grey)), np.asarray(grey.convert("RGB")))


def test_transparency_shows_white() -> None:
    for mode, colour in [("RGBA", (255, 0, 0, 0)), ("LA", (10, 0))]:
        assert (rgb(encode(flat(colour, mode=mode))) == 255).all()
    half = rgb(encode(flat((200, 0, 100, 128), mode="RGBA")))
    np.testing.assert_allclose(half, np.broadcast_to([227, 127, 177], half.shape), atol=1)
    np.testing.assert_allclose(rgb(encode(flat((0, 128), mode="LA"))), 127, atol=1)


def test_colour_under_full_transparency_has_no_influence() -> None:
    alpha = noise(seed=1).convert("L").point(lambda value: 255 * (value > 128))
    shown = []
    for hidden in ("red", "green"):
        picture = Image.composite(noise(), flat(hidden), alpha)
        picture.putalpha(alpha)
        shown.append(rgb(encode(picture)))
    np.testing.assert_array_equal(*shown)


def test_palettes_with_and_without_transparency() -> None:
    palette = noise().quantize(4)
    np.testing.assert_array_equal(rgb(encode(palette)), np.asarray(palette.convert("RGB")))
    kept = np.asarray(palette) != 2
    expected = np.where(kept[..., None], np.asarray(palette.convert("RGB")), 255)
    for transparency in (2, bytes([255, 255, 0, 255])):
        np.testing.assert_array_equal(rgb(encode(palette, transparency=transparency)), expected)
    np.testing.assert_array_equal(rgb(encode(palette, "gif", transparency=2)), expected)


def test_a_transparent_colour_shows_white() -> None:
    stripes = Image.fromarray(np.array([[[1, 2, 3], [9, 9, 9]]], np.uint8))
    assert rgb(encode(stripes, transparency=(9, 9, 9))).tolist() == [[[1, 2, 3], [255, 255, 255]]]


def test_cmyk_looks_like_its_rgb_twin() -> None:
    colour = (200, 60, 30)
    twin = rgb(encode(flat(colour).convert("CMYK"), "jpeg", quality=95))
    np.testing.assert_allclose(twin, np.broadcast_to(colour, twin.shape), atol=3)


def grey_inks() -> bytes:
    """An ICC profile of a press whose black is black and whose other inks all print the grey of L* = 50."""
    ramp = bytes(range(256))
    matrix = struct.pack(">9i", *(65536 * (place % 4 == 0) for place in range(9)))
    lightness = [0 if inks % 2 else 128 if inks else 255 for inks in range(2**4)]
    clut = bytes(value for light in lightness for value in (light, 128, 128))
    table = b"mft1" + bytes(4) + bytes([4, 3, 2, 0]) + matrix + 4 * ramp + clut + 3 * ramp
    white = b"XYZ " + bytes(4) + struct.pack(">3i", 63190, 65536, 54061)
    name = b"desc" + bytes(4) + struct.pack(">I", 5) + b"inks\0" + bytes(78)
    tags = {b"desc": name, b"wtpt": white, b"A2B0": table}
    start, directory, body = 128 + 4 + 12 * len(tags), struct.pack(">I", len(tags)), b""
    for signature, content in tags.items():
        padded = content + bytes(-len(content) % 4)
        directory += signature + struct.pack(">II", start + len(body), len(content))
        body += padded
    size = start + len(body)
    header = struct.pack(
        ">I4xI4s4s4s12x4s28x3i48x", size, 0x02400000, b"prtr", b"CMYK", b"Lab ", b"acsp", 63190, 65536, 54061
    )
    return header + directory + body


def test_inks_go_through_their_own_profile() -> None:
    inks = flat((0, 255, 255, 0), mode="CMYK")
    for format in ("tiff", "jpeg"):
        shown = rgb(encode(inks, format, icc_profile=grey_inks()))
        np.testing.assert_allclose(shown, 119, atol=2)  # L* 50 in sRGB
        np.testing.assert_array_equal(rgb(encode(inks, format, icc_profile=b"damaged")), rgb(encode(inks, format)))


@pytest.mark.parametrize("value", STORED)
def test_a_large_jpeg_reduced_looks_as_in_full(value: int) -> None:
    shown = np.asarray(photograph(1200, 900))
    data = with_orientation(Image.fromarray(np.ascontiguousarray(STORED[value](shown))), value, "jpeg")
    picture = decode_reduced(data, 448)
    assert (picture.width, picture.height) == (1200, 900)
    assert picture.image.size == (600, 450)
    full = decode(data).resize((224, 168), Image.Resampling.BICUBIC)
    reduced = picture.image.resize((224, 168), Image.Resampling.BICUBIC)
    assert np.abs(np.asarray(full).astype(int) - reduced).mean() < 1


@pytest.mark.parametrize(("size", "side", "decoded"), [((900, 2), 64, (450, 1)), ((50, 40), 64, (50, 40))])
def test_reducing_thin_and_small_jpegs(size: tuple[int, int], side: int, decoded: tuple[int, int]) -> None:
    picture = decode_reduced(encode(noise(*size), "jpeg"), side)
    assert (picture.image.size, (picture.width, picture.height)) == (decoded, size)


@pytest.mark.parametrize("format", ["png", "tiff", "webp", "avif", "heif"])
def test_other_formats_come_in_full(format: str) -> None:
    picture = decode_reduced(encode(photograph(), format), 64)
    assert (picture.image.size, picture.image.mode) == ((320, 240), "RGB")
    assert np.abs(np.asarray(picture.image).astype(int) - photograph()).mean() < 8


def test_sixteen_bits_are_scaled_not_clipped() -> None:
    ramp = np.arange(0, 65536, 257, dtype=np.uint16).reshape(16, 16)
    for format in ("png", "tiff"):
        expected = np.arange(256).reshape(16, 16, 1).repeat(3, 2)
        np.testing.assert_array_equal(rgb(encode(Image.fromarray(ramp), format)), expected)
    dark = Image.fromarray(np.uint16([[0, 257 * 100]]))
    assert rgb(encode(dark))[0, :, 0].tolist() == [0, 100]


def test_other_depths_are_scaled_by_what_they_span() -> None:
    for values in (np.float32([[-1, 0, 1, 3]]), np.int32([[-100_000, 0, 100_000, 300_000]])):
        assert rgb(encode(Image.fromarray(values), "tiff"))[0, :, 0].tolist() == [0, 64, 128, 255]
    assert (rgb(encode(Image.fromarray(np.float32([[5, 5]])), "tiff")) == 0).all()


@pytest.mark.filterwarnings("error")
def test_float_pixels_that_are_no_number_leave_the_others_as_they_are() -> None:
    values = np.float32([[0, 0.2, 1, np.nan, np.inf, -np.inf]])
    assert rgb(encode(Image.fromarray(values), "tiff"))[0, :, 0].tolist() == [0, 51, 255, 0, 0, 0]


@pytest.mark.parametrize("format", ["gif", "png", "tiff", "webp"])
def test_the_first_frame_stands_for_all(format: str) -> None:
    first, later = flat("red"), [flat("blue"), flat("green")]
    options = {"lossless": True} if format == "webp" else {}
    data = encode(first, format, save_all=True, append_images=later, **options)
    np.testing.assert_array_equal(rgb(data), np.asarray(first))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"GIF", "not an image, or of an unknown type"),
        (b"<html>404</html>", "not an image, or of an unknown type"),
        (encode(noise(99, 99))[:-200], "truncated"),
        (encode(noise(99, 99), "jpeg")[:-200], "truncated"),
        (encode(noise(99, 99), "gif")[:-200], "truncated"),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableImage, match=reason) as caught:
        decode(data)
    assert "\n" not in str(caught.value)


def test_without_its_plugin_heic_is_refused_by_name_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode(noise(), "heif")
    monkeypatch.setattr(Image, "OPEN", {name: one for name, one in Image.OPEN.items() if name != "HEIF"})
    monkeypatch.setattr(Image, "ID", [name for name in Image.ID if name != "HEIF"])
    with pytest.raises(UnreadableImage, match=r'HEIC images need an extra: pip install "scenekin\[heif\]"'):
        decode(data)


def test_a_program_is_not_run() -> None:
    for attempt in (decode, lambda data: decode_reduced(data, 8)):
        with pytest.raises(UnreadableImage, match="PostScript files are programs and are not run"):
            attempt(encode(noise(), "eps"))


def bomb(width: int = 20_000, height: int = 10_000) -> bytes:
    """A PNG that is small and says that it is large."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_a_decompression_bomb_is_refused() -> None:
    with pytest.raises(UnreadableImage, match=rf"{MAX_PIXELS}.*[^.]$"):
        decode(bomb())


def test_the_limit_holds_where_pillow_s_own_is_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    with pytest.raises(UnreadableImage, match=f"20000 x 10000 pixels exceed the limit of {MAX_PIXELS:,}"):
        decode(bomb())


SEEDS = [
    encode(noise().quantize(16) if format == "gif" else noise(), format)
    for format in ("png", "jpeg", "gif", "webp", "tiff", "bmp", "ppm", "jpeg2000", "tga", "pcx", "ico", "avif", "heif")
] + [path.read_bytes() for path in sorted(PILLOW_FILES.glob("*.*"))]


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=int(os.environ.get("SCENEKIN_FUZZ_EXAMPLES", "150")), deadline=None)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255))),
    st.floats(0, 1),
)
def test_damaged_bytes_are_decoded_or_refused(seed: bytes, changes: list[tuple[float, int]], kept: float) -> None:
    data = bytearray(seed)
    for place, value in changes:
        data[int(place * len(data))] = value
    data = data[: round(kept * len(data))]
    for attempt in (decode, lambda data: decode_reduced(data, 8).image):
        with suppress(UnreadableImage):
            assert attempt(bytes(data)).mode == "RGB"


@with_shared
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("hopper_gray.jpg", (128, 128)),
        ("hopper_orientation_6.jpg", (128, 128)),
        ("invalid-exif.jpg", (200, 200)),
        ("junk_jpeg_header.jpg", (1024, 768)),
        ("pil_sample_cmyk.jpg", (100, 100)),
        ("truncated_app14.jpg", (100, 100)),
    ],
)
def test_imperfect_files_that_can_be_decoded(name: str, size: tuple[int, int]) -> None:
    assert decode((PILLOW_FILES / name).read_bytes()).size == size


@with_shared
@pytest.mark.parametrize("name", ["broken_data_stream.png", "truncated_image.png", "truncated_jpeg.jpg", "LICENSE"])
def test_imperfect_files_that_are_refused(name: str) -> None:
    with pytest.raises(UnreadableImage):
        decode((PILLOW_FILES / name).read_bytes())


@with_shared
def test_four_channel_jpegs_look_like_their_twin() -> None:
    twin = rgb((case("F05") / "scene_rgb.jpg").read_bytes())
    for name in ("scene_cmyk.jpg", "scene_ycck.jpg", "scene_cmyk_noadobe_inverted.jpg"):
        assert np.abs(rgb((case("F05") / name).read_bytes()) - twin).mean() < 20


@with_shared
def test_oriented_photographs_look_like_the_upright_one() -> None:
    upright = rgb((case("F06") / "upright.png").read_bytes())
    for name in [*(f"o{value}.jpg" for value in STORED), "badtag0.jpg", "badtag9.jpg"]:
        shown = rgb((case("F06") / name).read_bytes())
        assert shown.shape == upright.shape
        assert np.abs(shown - upright).mean() < 8


@with_shared
def test_cut_outs_look_alike_whatever_is_hidden() -> None:
    red, green = (rgb((case("F08") / f"rgba_hidden_{colour}.png").read_bytes()) for colour in ("red", "green"))
    np.testing.assert_array_equal(red, green)
    assert (rgb((case("F08") / "all_transparent.png").read_bytes()) == 255).all()
    for name in ("palette_bytes.png", "palette_index.png", "palette.gif"):
        assert np.abs(rgb((case("F08") / name).read_bytes()) - red).mean() < 8


@with_shared
def test_moving_pictures_look_like_their_first_frame() -> None:
    still = rgb((case("F09") / "still_0.png").read_bytes())
    for name in ("anim.gif", "anim.webp", "anim_apng.png", "pages.tif", "really_a_gif.jpg"):
        assert np.abs(rgb((case("F09") / name).read_bytes()) - still).mean() < 8


@with_shared
def test_every_file_of_extreme_size_is_decoded_but_the_bomb() -> None:
    names = [json.loads(line)["file_name"] for line in (case("F11") / "metadata.jsonl").read_text().splitlines()]
    large = {"big_96MP.png", "bomb_200MP.png"}
    for name in set(names) - large:
        assert min(decode((case("F11") / name).read_bytes()).size) >= 1
    with pytest.raises(UnreadableImage, match="pixels"):
        decode((case("F11") / "bomb_200MP.png").read_bytes())


def test_a_large_picture_of_sixteen_bits_takes_a_few_bytes_a_pixel() -> None:
    side = 3000
    data = encode(Image.new("I;16", (side, side)))
    tracemalloc.start()
    decode(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * side * side
