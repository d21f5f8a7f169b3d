"""Suggests which file on disk is meant by the path of an image that does not exist."""

import difflib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tasks.collection.image_names import is_image
from tasks.collection.image_paths import endings, plain

MAX_COMPARISONS = 1_000_000  # pairs of paths that are compared letter by letter
SIMILARITY = 0.85  # minimum ratio (difflib) of a suggestion that differs by more than folder, case or extension


def suggest_files(
    missing: Sequence[str], unlisted: Sequence[str], former: Mapping[str, str], digests: Mapping[str, str]
) -> dict[str, str]:
    """Return a hint for each missing path that an unlisted file probably belongs to.

    `former` has the SHA-256 that missing paths had when they were last read, `digests` that of unlisted paths. Without
    them a file is suggested if its name alone differs by folder, case, Unicode form or extension, or by few letters
    that are not digits.
    """
    renamed = {digest: path for path, digest in digests.items()}
    hints = {}
    for path in missing:
        if former.get(path) in renamed:
            hints[path] = f"{renamed[former[path]]} has the content this file had; it was probably renamed"
    for path, found in _similar([path for path in missing if path not in hints], unlisted):
        hints[path] = f"perhaps {found} is meant"
    return hints


def namesakes(missing: Sequence[str], paths: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each missing path that several images may be meant by, the paths of those, which end in it."""
    found: dict[str, list[str]] = {plain(path): [] for path in missing}
    for name, path, _ in endings(filter(is_image, paths), found.keys()):
        found[name].append(path)
    return {path: images for path in missing if len(images := found[plain(path)]) > 1}


def _similar(missing: Sequence[str], unlisted: Sequence[str]) -> Iterator[tuple[str, str]]:
    by_name: dict[str, list[str]] = {}
    by_digits: dict[str, list[str]] = {}
    for path in unlisted:
        for key in {plain(path), plain(posixpath.basename(path)), _stem(path)}:
            by_name.setdefault(key, []).append(path)
        by_digits.setdefault(_digits(path), []).append(path)
    comparisons = 0
    for path in missing:
        keys = (plain(path), plain(posixpath.basename(path)), _stem(path))
        found = next((by_name[key] for key in keys if key in by_name), [])
        if not found and comparisons < MAX_COMPARISONS:
            candidates = by_digits.get(_digits(path), [])
            comparisons += len(candidates)
            found = difflib.get_close_matches(path, candidates, n=1, cutoff=SIMILARITY)
        if len(found) == 1:
            yield path, found[0]


def _stem(path: str) -> str:
    """The file's name without folder and extension, as a key that differs from that of a full name."""
    return f"{plain(posixpath.splitext(posixpath.basename(path))[0])}.*"


def _digits(path: str) -> str:
    """Numbers in a file's name identify it: names with different digits are different files."""
    return re.sub(r"\D", "", posixpath.basename(path))
