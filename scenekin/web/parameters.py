"""The parameters of a search and their limits."""

from typing import Annotated, BinaryIO

from fastapi import UploadFile
from pydantic import BaseModel, Field

from scenekin.searcher import RECALL, Query
from scenekin.web.served_index import ServedIndex
from tasks.errors import InputError
from tasks.images.decode import UPLOAD_SIDE, UnreadableImage, check_budget
from tasks.search.modifiers import ADD, REMOVE

ID_LENGTH, TEXT_LENGTH, PHRASE_LENGTH = 4_096, 10_000, 200
TOP_LIMIT = 200

ImageId = Annotated[str, Field(max_length=ID_LENGTH)]
Phrases = Annotated[list[Annotated[str, Field(max_length=PHRASE_LENGTH)]], Field(max_length=32)]
Weight = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class SearchParameters(BaseModel):
    """The id of an indexed image or a text; words to add and remove, with their weights; the number of results.

    `recall` is the minimum recall of an approximate index; 1 searches exactly.
    """

    id: ImageId | None = None
    text: Annotated[str, Field(max_length=TEXT_LENGTH)] | None = None
    add: Phrases = []
    remove: Phrases = []
    alpha: Weight = ADD
    beta: Weight = REMOVE
    top: Annotated[int, Field(ge=1, le=TOP_LIMIT)] = 10
    recall: Annotated[float, Field(ge=0, le=1)] = RECALL

    def query(self, index: ServedIndex, upload: BinaryIO | None = None) -> Query:
        """Return the query; an upload is read in the calling thread. Raises InputError, MissingImage for the id."""
        if self.id is not None:
            index.searcher.row(self.id)
        return index.searcher.query(
            read_upload(upload) if upload is not None else None,
            image_id=self.id,
            text=self.text,
            add=self.add,
            remove=self.remove,
            alpha=self.alpha,
            beta=self.beta,
        )


def read_upload(stream: BinaryIO) -> bytes:
    """Return an uploaded image. Raises InputError if decoding it would exceed the budget of uploads."""
    data = stream.read()
    try:
        check_budget(data, UPLOAD_SIDE)
    except UnreadableImage as error:
        raise InputError(f"Cannot decode the image: {error}.") from error
    return data


class UploadSearchParameters(SearchParameters):
    """The same as a form, optionally with an image."""

    image: UploadFile | None = None
