"""What an image file is by its name; whether it really is one, its bytes say later."""

import re

KEPT_BY_SYSTEMS = frozenset({"__MACOSX", "@eaDir", "#recycle", "@Recycle", "$RECYCLE.BIN", "lost+found"})
THUMBNAILS = ("SYNOPHOTO_THUMB_", "SYNOFILE_THUMB_")
EXTENSION = re.compile(
    r"\.(avif|bmp|gif|hei[cf]|jfif|jpe|jpe?g|mpo|p[bgnp]m|png|tiff?|webp)$",
    re.IGNORECASE,
)


def is_hidden(path: str) -> bool:
    """Whether the file or a folder above it is one that systems keep for themselves (`._a.jpg`, a NAS's thumbnails)."""
    parts = path.split("/")
    return any(part.startswith(".") or part in KEPT_BY_SYSTEMS for part in parts) or parts[-1].startswith(THUMBNAILS)


def is_image(path: str) -> bool:
    """Whether the name is that of an image that people put there."""
    return EXTENSION.search(path) is not None and not is_hidden(path)
