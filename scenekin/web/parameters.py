"""What may be asked, within which bounds."""

from typing import Annotated, BinaryIO

from fastapi import UploadFile
from pydantic import BaseModel, Field

from scenekin.searcher import RECALL, Query
from scenekin.web.served_index import Served
from tasks.search.modifiers import ADD, REMOVE

ID_LENGTH, TEXT_LENGTH = 4_096, 20_000
TOP_LIMIT = 200

ImageId = Annotated[str, Field(max_length=ID_LENGTH)]
Phrases = Annotated[list[Annotated[str, Field(max_length=TEXT_LENGTH)]], Field(max_length=32)]
Weight = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class Question(BaseModel):
    """The id of an indexed image, or a text; words to move by and how far; how many results.

    `recall` is the share of the nearest images that a very large index has to find; 1 looks at all.
    """

    id: ImageId | None = None
    text: Annotated[str, Field(max_length=TEXT_LENGTH)] | None = None
    add: Phrases = []
    remove: Phrases = []
    alpha: Weight = ADD
    beta: Weight = REMOVE
    top: Annotated[int, Field(ge=1, le=TOP_LIMIT)] = 10
    recall: Annotated[float, Field(ge=0, le=1)] = RECALL

    def query(self, served: Served, upload: BinaryIO | None = None) -> Query:
        """What to rank by; the upload is read here, in the thread that decodes it. Raises InputError."""
        if self.id is not None:
            served.searcher.row(self.id)  # an unknown id is told from other errors
        return served.searcher.query(
            upload.read() if upload is not None else None,
            image_id=self.id,
            text=self.text,
            add=self.add,
            remove=self.remove,
            alpha=self.alpha,
            beta=self.beta,
        )


class UploadQuestion(Question):
    """The same in a form, an image with it or not."""

    image: UploadFile | None = None
