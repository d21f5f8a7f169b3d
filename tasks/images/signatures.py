"""Recognises image types by the first bytes of a file."""

SIGNATURES = {
    b"\xff\xd8\xff": "JPG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}
UNSUPPORTED = (  # PDF, PostScript, Photoshop, JPEG 2000, JPEG XL, OpenEXR, Radiance, DjVu, icons
    *(b"%PDF", b"%!PS", b"8BPS", b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51", b"\0\0\0\x0cJXL ", b"\xff\x0a"),
    *(b"v/1\x01", b"#?RADIANCE", b"AT&TFORM", b"\0\0\1\0"),
)
CONVERT = "this file type is not supported; convert to JPEG, PNG or TIFF"
HEIC = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")
LEAST = 26  # bytes of the smallest header


def image_type(head: bytes) -> str | None:
    """Return the type of the image that begins with these bytes, as a file extension; None if it is none."""
    if len(head) < LEAST:
        return None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        return "AVIF" if head[8:12] in (b"avif", b"avis") else "HEIC" if is_heic(head) else None
    return next((kind for start, kind in SIGNATURES.items() if head.startswith(start)), None)


def is_heic(head: bytes) -> bool:
    """Return whether the bytes begin a HEIC image."""
    return head[4:8] == b"ftyp" and head[8:12] in HEIC
