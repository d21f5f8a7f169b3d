"""Which files are images, judging by name; the bytes are checked later."""

import re

SYSTEM_FOLDERS = frozenset({"__MACOSX", "@eaDir", "#recycle", "@Recycle", "$RECYCLE.BIN", "lost+found"})
THUMBNAILS = ("SYNOPHOTO_THUMB_", "SYNOFILE_THUMB_")
EXTENSION = re.compile(
    r"\.(avif|bmp|gif|hei[cf]|jfif|jpe|jpe?g|mpo|p[bgnp]m|png|tiff?|webp)$",
    re.IGNORECASE,
)


def is_hidden(path: str) -> bool:
    """Return whether the file or a parent folder is hidden or made by the system (`._a.jpg`, a NAS's thumbnails)."""
    parts = path.split("/")
    return any(part.startswith(".") or part in SYSTEM_FOLDERS for part in parts) or parts[-1].startswith(THUMBNAILS)


def is_image(path: str) -> bool:
    """Return whether the path has an image extension and is not hidden."""
    return EXTENSION.search(path) is not None and not is_hidden(path)
