"""The parameters of a search and their limits."""

from typing import Annotated

import numpy as np
from fastapi import UploadFile
from pydantic import BaseModel, Field

from scenekin.searcher import RECALL, Query
from scenekin.web.served_index import ServedIndex
from tasks.errors import InputError
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

    def query(self, index: ServedIndex, upload_D: np.ndarray | None = None) -> Query:
        """Return the query, given the embedding of an upload. Raises InputError, MissingImage for the id."""
        if self.id is not None:
            index.searcher.row(self.id)
        if upload_D is not None:
            if self.id is not None or self.text is not None:
                raise InputError("Give an image, the id of an indexed image, or a text: exactly one of them.")
            words = index.searcher.words(self.add, self.remove, self.alpha, self.beta)
            return Query(**vars(words), embedding_D=words.steer(upload_D))
        return index.searcher.query(
            image_id=self.id,
            text=self.text,
            add=self.add,
            remove=self.remove,
            alpha=self.alpha,
            beta=self.beta,
        )


class UploadSearchParameters(SearchParameters):
    """The same as a form, optionally with an image."""

    image: UploadFile | None = None
