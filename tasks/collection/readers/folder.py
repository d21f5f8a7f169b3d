"""A folder of images alone: a database to search, without captions."""

from tasks.collection.config import CollectionConfig
from tasks.collection.image_names import is_image
from tasks.collection.image_paths import ImagePaths
from tasks.collection.records import Files, Reading
from tasks.errors import InputError


class Folder:
    """Every image below the root, in whatever folder."""

    name = "folder"

    def recognises(self, files: Files) -> bool:
        """Whether there is an image, by name."""
        return any(map(is_image, files.paths))

    def read(self, files: Files, images: Files, config: CollectionConfig) -> Reading:  # noqa: ARG002 (a reader's signature)
        """An item for each image. Raises InputError where there is none."""
        items = ImagePaths(images.paths).unlisted([])
        if not items:
            raise InputError("The folder holds no images; give one that does.")
        return Reading(self.name, tuple(items))
