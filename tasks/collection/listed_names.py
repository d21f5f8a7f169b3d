"""Finds the images that a captions file names, also where folders were left out, added or renamed."""

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tasks.collection.image_paths import ImagePaths, as_path, plain
from tasks.collection.records import Problem

MAX_PREFIX = 16  # folders at the beginning of names that may be ignored
MAX_NAMESAKES = 100  # images of one name; with more of them, a renamed folder is not looked for
LEAST_MOVED = 2  # names that have to be found before a folder counts as renamed

Names = Mapping[str, str]  # names as they are written, and as the paths that are looked for


def find_names(
    names: Iterable[str], source: str, paths: ImagePaths, problems: list[Problem], folder: str | None = None
) -> dict[str, str]:
    """Return the path of each name in the file `source`, relative to `folder` or to the one that has nearly all names.

    Names that are not found so are looked for without a beginning that most names share, then as the end of only one
    image's path, then in the only other folder that has the names of a folder that does not exist. Whichever of these
    is used is reported. The path of a name that is not found is that of no file.
    """
    written = {name: name for name in names}
    search = _Search(source, paths, problems, folder, len(written))
    search.find_below(written)
    lost = search.lost({name: as_path(name) for name in written})
    if prefix := search.foreign_prefix(list(lost.values())):
        rest = {name: path.removeprefix(prefix) for name, path in lost.items() if path.startswith(prefix)}
        search.find_below(rest, None if any("/" in path for path in rest.values()) else "")  # else each by its own name
        lost = search.lost(lost | rest)
    if lost:
        search.index_ends(lost.values())
        search.find_by_end(lost)
        search.find_in_renamed_folders(search.lost(lost))
    return search.path_of


class _Search:
    """The rules in turn: `path_of` has the path of each name, `home` the folder that names are relative to."""

    def __init__(self, source: str, paths: ImagePaths, problems: list[Problem], folder: str | None, count: int) -> None:
        self._source = source
        self._paths = paths
        self._problems = problems
        self._folder = folder
        self._count = count
        self._home = folder or ""
        self._ends: dict[str, list[str]] = defaultdict(list)
        self.path_of: dict[str, str] = {}

    def lost(self, names: Names) -> dict[str, str]:
        """Return the names that have not been found; those outside the images' root are not looked for any further."""
        return {
            name: path
            for name, path in names.items()
            if self.path_of[name] not in self._paths and not path.startswith("../")
        }

    def find_below(self, names: Names, home: str | None = None) -> None:
        """Look for names relative to a folder, by default that which has nearly all of them."""
        if self._folder is None:
            self._home = self._paths.folder_of(names.values()) if home is None else home
        self.path_of |= {name: self._paths.find(path, self._home) for name, path in names.items()}

    def foreign_prefix(self, lost: Sequence[str]) -> str:
        """Return the shortest folder that most names begin with and that most of these exist without; "" if none.

        Such a folder does not exist in the collection.
        """
        prefixes = _shared_folders(lost, self._count)
        if not prefixes or self._has_folder(prefixes[0]):
            return ""
        rests = {
            prefix: [plain(path.removeprefix(prefix)) for path in lost if path.startswith(prefix)]
            for prefix in prefixes
        }
        exist = {name for name, _ in self._paths.ending_in({name for rest in rests.values() for name in rest})}
        for prefix, rest in rests.items():
            every = len(rest) == self._count
            folders_remain = any("/" in name for name in rest)  # otherwise it may be one folder that was renamed
            if (every or folders_remain) and sum(name in exist for name in rest) * 2 > len(rest):
                which = "all names begin" if every else f"{len(rest):,} of {self._count:,} names begin"
                self._report("ignored-prefix", f"{which} with {prefix}, which is ignored")
                return prefix
        return ""

    def index_ends(self, lost: Iterable[str]) -> None:
        """Note the images whose paths end in one of the lost paths, or in the name of its file."""
        wanted = {plain(name) for path in lost for name in (path, posixpath.basename(path))}
        below = posixpath.join(self._folder or "", "")
        for name, path in self._paths.ending_in(wanted):
            if path.startswith(below):
                self._ends[name].append(path)

    def find_by_end(self, lost: Names) -> None:
        """Use the only image whose path ends in a name, unless the name's own folder exists.

        The path of a name that several images have is the name itself.
        """
        used: dict[bool, list[str]] = {False: [], True: []}
        for name, path in lost.items():
            folder = posixpath.dirname(path)
            images = self._ends.get(plain(path), [])
            if images and not (folder and self._has_folder(folder)):
                self.path_of[name] = images[0] if len(images) == 1 else posixpath.join(self._folder or "", path)
                used[bool(folder)] += images if len(images) == 1 else []
        for in_folder, images in used.items():
            lack, only = ("the first folders", "whose path ends so") if in_folder else ("the folder", "of that name")
            if len(images) == 1:
                self._report("no-folder", f"1 name lacks {lack}; used for the only image {only}: {images[0]}")
            elif images:
                which = f"{len(images):,} names lack {lack}; each is used for the only image {only}"
                self._report("no-folder", f"{which}, such as {images[0]}")

    def find_in_renamed_folders(self, lost: Names) -> None:
        """Use another folder for a folder that does not exist, if all of its names that exist are there alone."""
        taken = frozenset(self.path_of.values())
        by_folder: dict[str, list[str]] = defaultdict(list)
        for name, path in lost.items():
            if "/" in path:
                by_folder[posixpath.dirname(path)].append(name)
        moves: dict[str, dict[str, str]] = {}
        for folder, names in by_folder.items():
            images = {name: self._free_namesakes(lost[name], taken) for name in names}
            found = {name: others[0] for name, others in images.items() if len(others) == 1}
            places = {posixpath.dirname(image) for others in images.values() for image in others}
            if len(places) == 1 and len(found) >= max(LEAST_MOVED, len(names) / 2) and not self._has_folder(folder):
                moves[folder] = found
        claims = Counter(image for found in moves.values() for image in found.values())
        for folder, found in moves.items():
            if all(claims[image] == 1 for image in found.values()):
                self.path_of |= found
                place = posixpath.dirname(next(iter(found.values()))) or "the collection's own folder"
                detail = (
                    f"{len(found):,} names in {folder}, which does not exist, are used for the images of the same "
                    f"names in {place}"
                )
                self._report("renamed-folder", detail)

    def _free_namesakes(self, path: str, taken: frozenset[str]) -> list[str]:
        """Return the images of the same name that no name is used for yet."""
        images = self._ends.get(plain(posixpath.basename(path)), [])
        return [image for image in images if image not in taken] if len(images) <= MAX_NAMESAKES else []

    def _has_folder(self, folder: str) -> bool:
        return self._paths.has_folder(posixpath.join(self._home, folder))

    def _report(self, kind: str, detail: str) -> None:
        self._problems.append(Problem(kind, self._source, detail))


def _shared_folders(paths: Sequence[str], count: int) -> list[str]:
    """Return the folders, each in the one before it, that more than half of `count` names begin with."""
    found: list[str] = []
    prefix = ""
    while len(found) < MAX_PREFIX:
        starts = Counter(path[: path.find("/", len(prefix)) + 1] for path in paths)
        (prefix, shared), *_ = [*starts.most_common(1), ("", 0)]
        if shared * 2 <= count or not prefix:
            break
        found.append(prefix)
        paths = [path for path in paths if path.startswith(prefix)]
    return found
