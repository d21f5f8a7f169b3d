"""The image files of an index: read only where the collection's own files are."""

from pathlib import Path

from storage.index.manifest import Manifest
from storage.source.tree import SERVICES, read_below


def read_image(manifest: Manifest, path: str, *, follow_links: bool = True) -> bytes:
    """Read an image file by its path below the images of an index. The caller compares the digest.

    Links that leave the images are followed if the index was made so and `follow_links` is set. A manifest may come
    from somebody else: of remote images only the collection's own are requested, and those of object stores, whose host
    this machine's configuration determines. Raises OSError.
    """
    root = manifest.images_root
    if "://" in root:
        if not _may_request(root, manifest.collection):
            raise OSError("not requested, because it is not the collection's own folder")
        return read_below(root, path)
    file = Path(root, path)
    follows = manifest.follow_links and follow_links
    if not follows and not file.resolve().is_relative_to(Path(root).resolve()):
        raise OSError("a link leads out of the collection")
    if file.exists() and not file.is_file():
        raise OSError("not a regular file")  # reading a pipe or a device might never end
    return read_below(root, path)


def images_are_missing(manifest: Manifest) -> bool:
    """Return whether the local folder of an index's images does not exist any more."""
    return "://" not in manifest.images_root and not Path(manifest.images_root).exists()


def _may_request(root: str, collection: str) -> bool:
    own = collection.rstrip("/")
    by_host = root.partition("://")[0] not in {*SERVICES, "memory"}
    return not by_host or root.rstrip("/") in {own, own.rpartition("/")[0]}
