"""Listing and reading the files of a collection, on disk or remotely through fsspec."""

import hashlib
import io
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec

from storage.errors import StorageError
from storage.source.connection import connection_fault
from storage.source.credentials import without_credentials
from storage.source.local_files import WORKSPACE_MARK, Skipped, walk
from storage.source.parquet_images import file_of, read_image

CAPTION_FILES = (".json", ".jsonl", ".csv", ".tsv", ".txt", ".token", ".parquet")
LOCAL = ("file://", "local://")
COLLECTION_REMEDY = "give the folder or file of a collection"
IMAGES_REMEDY = "--images takes the folder of the images"
ONE_REQUEST = 2**25  # bytes up to which a remote file is read in one request
S3 = ("s3", "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL")
GS = ("gs", "GOOGLE_APPLICATION_CREDENTIALS")
SERVICES = {
    "s3": S3,
    "s3a": S3,
    "gs": GS,
    "gcs": GS,
}  # by protocol: our extra, and the variables with credentials and address


@dataclass(frozen=True)
class Tree:
    """The visible files below a root, sorted, as paths relative to it with `/` as separator.

    `filesystem` is None for local files; for others, `details` is their listing. With `is_file` the tree is a single
    file and its root is that file's folder.
    """

    url: str
    root: str
    paths: tuple[str, ...]
    filesystem: Any = None
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    is_file: bool = False

    def open(self, path: str) -> BinaryIO:
        """Open a file, or an image inside a Parquet file, for reading. Raises OSError."""
        container = file_of(path)
        if container is not None and path not in self.details and not Path(self.root, path).is_file():
            return io.BytesIO(read_image(path, self._state(container), self.open))
        if self.filesystem is None:
            return Path(self.root, path).open("rb")
        place = f"{self.root}/{path}"
        try:
            if (self.details[path].get("size") or ONE_REQUEST) < ONE_REQUEST:
                return io.BytesIO(self.filesystem.cat_file(place))
            return cast(BinaryIO, self.filesystem.open(place, "rb"))
        except OSError as error:
            raise _without_credentials(error) from None
        except Exception as error:  # services raise any exception
            raise OSError(without_credentials(" ".join(str(error).split()))) from error

    def _state(self, path: str) -> str:
        """Return a text that differs whenever the file has changed; it is part of the key of its cached images."""
        return f"{self.place(path)} {self.details[path] if self.filesystem is not None else _state(self.place(path))}"

    def place(self, path: str) -> str:
        """Return the absolute path or URL of a file, without credentials."""
        return self._address(f"{self.root}/{path}")

    @property
    def address(self) -> str:
        """The absolute path or URL of the root, without credentials."""
        return self._address(self.root)

    def _address(self, place: str) -> str:
        return place if self.filesystem is None else without_credentials(self.filesystem.unstrip_protocol(place))

    def folder(self, follow_links: bool) -> "Tree":
        """Return the tree of the root, of which this tree may be a single file. Raises StorageError."""
        return list_tree(
            self.root if self.filesystem is None else self.filesystem.unstrip_protocol(self.root), follow_links
        )


def read_below(address: str, path: str) -> bytes:
    """Read a file by its path below the address of a root, without listing the root. Raises OSError."""
    container = file_of(path)
    if "://" not in address:
        if container is not None and not Path(address, path).is_file():
            return read_image(path, _state(f"{address}/{container}"), lambda file: Path(address, file).open("rb"))
        return Path(address, path).read_bytes()
    try:
        filesystem, root = fsspec.core.url_to_fs(address)
        if container is not None:
            place = f"{root.rstrip('/')}/{container}"
            return read_image(path, f"{place} {filesystem.info(place)}", lambda _: filesystem.open(place, "rb"))
        return cast(bytes, filesystem.cat_file(f"{root.rstrip('/')}/{path}"))
    except OSError as error:
        raise _without_credentials(error) from None
    except Exception as error:  # services raise any exception, and their package may be missing
        raise OSError(_reason(address.partition("://")[0], error)) from error


def _state(place: str) -> str:
    """Return a text that differs whenever a local file has changed. Raises OSError, also if it is no regular file."""
    status = Path(place).stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a regular file")  # reading a pipe or a device might never end
    return f"{place} {status.st_size} {status.st_mtime_ns}"


def require_place(url: str, remedy: str = COLLECTION_REMEDY) -> None:
    """Raise StorageError if there is no local file or folder at `url`; nothing is listed. URLs are not requested."""
    if not _is_remote(url) and not _local_path(url).exists():
        raise _no_place(url, remedy)


def _is_remote(url: str) -> bool:
    return "://" in url and not url.startswith(LOCAL)


def _local_path(url: str) -> Path:
    for protocol in LOCAL:
        url = url.removeprefix(protocol)
    return Path(url).expanduser().absolute()


def _no_place(url: str, remedy: str) -> StorageError:
    return StorageError(f"No such file or folder: {without_credentials(url)}; {remedy}.")


def list_tree(url: str, follow_links: bool = False, remedy: str = COLLECTION_REMEDY) -> Tree:
    """List the files below a folder or URL, or the single file that it names. Raises StorageError.

    Links that leave a folder are skipped unless `follow_links` is set. `remedy` says what to do if there is no such
    place.
    """
    try:
        return _remote_tree(url) if _is_remote(url) else _local_tree(url, follow_links)
    except Exception as error:  # no permission, unknown protocol, missing package, and whatever services raise
        if _is_remote(url) and (fault := connection_fault(error)):
            raise StorageError(f"Cannot reach {without_credentials(url)}: {fault}.") from error
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise _no_place(url, remedy) from error
        reason = _reason(url.partition("://")[0], error)
        raise StorageError(f"Cannot read {without_credentials(url)}: {reason}.") from error


def _without_credentials(error: OSError) -> OSError:
    """Remove credentials from the message of an error."""
    if fault := connection_fault(error):
        return OSError(fault)
    error.args = tuple(without_credentials(arg) if isinstance(arg, str) else arg for arg in error.args)
    return error


def _reason(protocol: str, error: Exception) -> str:
    reason = " ".join(str(getattr(error, "strerror", None) or error).split()).removesuffix(".")
    reason = without_credentials(reason)
    if protocol not in SERVICES:
        return reason or type(error).__name__
    extra, variables = SERVICES[protocol]
    if isinstance(error, ImportError):
        return f'a package is missing; pip install "scenekin[{extra}]"'
    return f"{reason}; check {variables}"


def _local_tree(url: str, follow_links: bool) -> Tree:
    root = _local_path(url)
    if root.is_file():
        return Tree(url, str(root.parent), (root.name,), is_file=True)
    if not root.is_dir():
        raise OSError("neither a file nor a folder") if root.exists() else FileNotFoundError(url)
    files, skipped = walk(root, follow_links)
    return Tree(url, str(root), tuple(files), skipped=tuple(skipped))


def _remote_tree(url: str) -> Tree:
    filesystem, root = fsspec.core.url_to_fs(url)
    root = root.rstrip("/")
    filesystem.invalidate_cache()  # fsspec caches listings
    details = filesystem.info(root)
    if details["type"] == "file":
        parent, _, name = root.rpartition("/")
        return Tree(url, parent, (name,), filesystem, {name: details}, is_file=True)
    found = {
        path.removeprefix(root).removeprefix("/"): details
        for path, details in filesystem.find(root, detail=True).items()
        if not path.endswith("/") and path != root  # object stores mark folders with empty objects
    }
    workspaces = tuple(path.removesuffix(WORKSPACE_MARK) for path in found if path.endswith(f"/{WORKSPACE_MARK}"))
    visible = {path: found[path] for path in sorted(found) if not _hidden(path) and not path.startswith(workspaces)}
    return Tree(url, root, tuple(visible), filesystem, visible)


def _hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


@dataclass(frozen=True)
class Source:
    """The place of a collection: a folder, file or URL, and the folder of its images if it is another one.

    Only `address` and `name` may be shown or stored: `url` and `images` may contain credentials.
    """

    url: str
    images: str | None = None
    follow_links: bool = False

    @property
    def address(self) -> str:
        """The path or URL without credentials."""
        return without_credentials(self.url)

    @property
    def name(self) -> str:
        """The last part of its path, by which people know it."""
        return self.address.rstrip("/").rpartition("/")[2]

    def trees(self) -> tuple[Tree, Tree]:
        """Return the collection's files, and the files that its image paths refer to. Raises StorageError."""
        files = list_tree(self.url, self.follow_links)
        if not (files.paths or files.skipped):
            raise StorageError(f"{self.address} contains no files; give the folder that contains the images.")
        if self.images is not None:
            images = list_tree(self.images, self.follow_links, IMAGES_REMEDY)
            if images.is_file:
                raise StorageError(f"{without_credentials(self.images)} is a file; {IMAGES_REMEDY}.")
            return files, images
        if not files.is_file:
            return files, files
        if not files.paths[0].lower().endswith(CAPTION_FILES):
            raise StorageError(
                f"{self.address} is not a caption file; give a caption file or the folder of a collection."
            )
        return files, files.folder(self.follow_links)


class ChangedFile(OSError):
    """A file changed after its collection was read."""


def reader(tree: Tree, sha256_of: Mapping[str, str]) -> Callable[[str], bytes]:
    """Return a function that reads files by path and raises ChangedFile if the bytes do not match their digest."""

    def read(path: str) -> bytes:
        with tree.open(path) as stream:
            data = stream.read()
        if hashlib.sha256(data).hexdigest() != sha256_of[path]:
            raise ChangedFile(f"{path} changed during the run; run again")
        return data

    return read
