import json
import os
import re
import struct
import sys
import threading
import time
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from tasks.images import decode as module
from tasks.images.decode import MAX_PIXELS, UnreadableImage, check_budget, decode, decode_reduced
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


def test_a_signalling_nan_is_ignored() -> None:
    value_HW = np.array([[0x7F800001, 0x3F800000]], np.uint32).view(np.float32)
    assert np.unique(rgb(encode(Image.fromarray(value_HW), "tiff"))).tolist() == [0, 255]


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
        (b"%PDF-1.4", "this file type is not supported; convert to JPEG, PNG or TIFF"),  # as `check` says
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
        with pytest.raises(UnreadableImage, match="this file type is not supported; convert to"):
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


def progressive(scans: int, width: int = 64, height: int = 64) -> bytes:
    """A small progressive JPEG whose last scan is repeated; decoders work through every one."""
    data = encode(noise(width, height), "jpeg", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * scans + data[-2:]


def in_icon(png: bytes) -> bytes:
    """An ICO file that says it is small."""
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(png), 22) + png


def in_a_tile(side: int) -> bytes:
    """A TIFF of 16 x 16 pixels in a larger tile."""
    content = zlib.compress(bytes(256))
    tags = {256: 16, 257: 16, 258: 8, 259: 8, 262: 1, 277: 1, 322: side, 323: side, 324: 8, 325: len(content)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    return b"II*\0" + struct.pack("<I", 8 + len(content)) + content + struct.pack("<H", len(tags)) + entries + bytes(4)


def scan_by_scan(width: int, height: int) -> bytes:
    """The header of a JPEG with one scan for each colour, behind a comment that looks like a scan."""

    def segment(marker: int, content: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content

    frame = struct.pack(">BHHB9B", 8, height, width, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0)
    scan = b"\xff" + segment(0xDA, bytes([1, 1, 0, 0, 63, 0]))
    return b"\xff\xd8" + segment(0xFE, segment(0xDA, bytes([3]))) + segment(0xC0, frame) + scan + b"\xff\xd9"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (in_icon(bomb()), "this file type is not supported"),
        (in_a_tile(20_000), "takes 3,200 MB"),
        (scan_by_scan(13_370, 13_370), "takes 1,[0-9]+ MB"),
        (encode(flat("red", 8192, 8192), "webp"), "takes 1,141 MB"),
        (b"P2 9 9 255\n" + b"#\n" * 20_000, "decoding this kind of PPM takes too long"),
        (bomb(178_956_970, 1), "178956970 x 1 pixels exceed the limit of 65,535 for a side"),
        (bomb(1, 70_000), "1 x 70000 pixels exceed"),
        (encode(flat((9,), 9000, 9000, mode="L").convert("F"), "tiff", compression="tiff_deflate"), "takes 1,134 MB"),
        (progressive(100_000, 8, 800), "too many scans"),
    ],
)
def test_what_exceeds_the_budget_is_refused_before_it_is_decoded(data: bytes, reason: str) -> None:
    for attempt in (decode, lambda data: decode_reduced(data, 64), lambda data: check_budget(data, 64)):
        tracemalloc.start()
        with pytest.raises(UnreadableImage, match=reason):
            attempt(data)
        assert tracemalloc.get_traced_memory()[1] < 2**24 + 2 * len(data)
        tracemalloc.stop()


def test_uploads_have_a_smaller_budget() -> None:
    large = encode(flat((1,), 12_000, 11_000, mode="1"))
    decode(large)
    with pytest.raises(UnreadableImage, match="takes 660 MB, which exceeds the limit of 537 MB"):
        check_budget(large, 64)
    check_budget(encode(flat((9,), 12_000, 11_000, mode="L"), "jpeg"), 64)  # reduced while it is decoded
    with pytest.raises(UnreadableImage, match="takes too long; save it as PNG"):
        check_budget(b"P6 600 600 254\n" + bytes(3 * 600 * 600), 64)
    check_budget(encode(noise(), "jpeg", progressive=True), 64)


def test_a_file_of_millions_of_parts_is_refused() -> None:
    with pytest.raises(UnreadableImage, match="it consists of too many parts"):
        decode(b"\xff\xd8" + b"\xff" * 300_000)


def test_usual_progressive_images_are_decoded() -> None:
    assert decode(progressive(20)).size == (64, 64)


def test_a_lack_of_memory_is_the_image_s_own_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    data = encode(noise())
    monkeypatch.setattr(PngImageFile, "load", fail)
    with pytest.raises(UnreadableImage, match="not enough memory"):
        decode(data)


def test_large_images_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    active, most = 0, 0
    lock = threading.Lock()
    load = PngImageFile.load

    def slow(image: PngImageFile) -> object:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.05)
        with lock:
            active -= 1
        return load(image)

    monkeypatch.setattr(PngImageFile, "load", slow)
    monkeypatch.setattr(module, "LARGE", 0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(decode, [encode(noise())] * 4))
    assert most == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux resets the peak of a process's memory")
@pytest.mark.parametrize(
    ("format", "mode", "options"),
    [
        ("jpeg", "RGB", {}),
        ("jpeg", "RGB", {"progressive": True}),
        ("png", "RGBA", {}),
        ("gif", "P", {}),
        ("webp", "RGB", {}),
        ("avif", "RGBA", {"speed": 10, "subsampling": "4:4:4"}),
        ("heif", "RGB", {}),
        ("tiff", "F", {"compression": "tiff_lzw"}),
    ],
)
def test_decoding_takes_no_more_memory_than_was_counted(format: str, mode: str, options: dict[str, Any]) -> None:
    data = encode(Image.new(mode, (3000, 3000)), format, **options)
    status = Path("/proc/self/status")

    def kilobytes(name: str) -> int:
        return int(re.findall(rf"{name}:\s+(\d+)", status.read_text(encoding="utf-8"))[0])

    with module._opened(data, module.BUDGET) as (image, stored):
        counted = module._memory(image, stored, data)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = kilobytes("VmRSS")
    decode(data)
    assert 1024 * (kilobytes("VmHWM") - before) < counted + 2**23


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
