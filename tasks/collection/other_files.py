"""Names files of a collection that are neither images nor read, with the reason and the remedy."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from tasks.collection.image_names import is_hidden, is_image
from tasks.collection.records import Problem
from tasks.images.signatures import CONVERT, image_type

_RAW = "3fr arw cr2 cr3 crw dcr dng erf fff gpr iiq k25 kdc mef mos mrw nef nrw orf pef raf raw rw2 rwl sr2 srf srw x3f"
_VIDEO = "mp4 mov avi mkv m4v 3gp mts mpg mpeg webm wmv"
_UNSUPPORTED = "ai dcm djvu eps exr hdr ico j2k jp2 jxl mng pdf ps psd svg tga xcf"
REMEDIES = {
    **dict.fromkeys(_RAW.split(), "camera raw files are not supported; convert them to JPEG or TIFF"),
    **dict.fromkeys(_UNSUPPORTED.split(), CONVERT),
    **dict.fromkeys(_VIDEO.split(), "videos are not supported"),
    **dict.fromkeys(("zip", "tar", "gz", "tgz", "bz2", "xz", "7z", "rar"), "unpack archives to use their content"),
    **dict.fromkeys(("xlsx", "xls", "ods", "numbers"), "export spreadsheets as CSV"),
    **dict.fromkeys(
        ("csv", "tsv", "json", "jsonl", "ndjson", "parquet"),
        "not used in this format; to use it, give it as the collection",
    ),
}
MAX_OPENED = 50  # files of unknown types whose first bytes are read
HEAD = 32  # bytes


def other_files(
    paths: Iterable[str], read: Iterable[str], reported: Iterable[str], head: Callable[[str], bytes]
) -> list[Problem]:
    """Return a problem for each kind of file that is not an image, was not read, and is not yet reported.

    `head` returns the first bytes of a file, or none if it cannot be opened. Files that are images under another name
    are named one by one.
    """
    known = {*read, *reported}
    by_extension: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        if path not in known and not is_image(path) and not is_hidden(path):
            by_extension[posixpath.splitext(path)[1].lower()].append(path)
    return [
        problem for extension, found in sorted(by_extension.items()) for problem in _problems(extension, found, head)
    ]


def _problems(extension: str, paths: Sequence[str], head: Callable[[str], bytes]) -> Iterator[Problem]:
    remedy = REMEDIES.get(extension.removeprefix("."))
    images: dict[str, str] = {}
    if remedy is None:
        images = {path: kind for path in paths[:MAX_OPENED] if (kind := image_type(head(path)))}
        remedy = "neither an image nor a file that is read in this format"
    for path, kind in images.items():
        detail = f"a {kind} image by its content; rename it to {path}.{kind.lower()} to include it"
        yield Problem("ignored-file", path, detail)
    match [path for path in paths if path not in images]:
        case [path]:
            yield Problem("ignored-file", path, remedy)
        case [path, *_] as others:
            yield Problem("ignored-file", f"*{extension}", f"{len(others):,} files, such as {path}: {remedy}")
