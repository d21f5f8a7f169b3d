"""The parameters of a search and their limits."""

from typing import Annotated

import numpy as np
from fastapi import Header, HTTPException, UploadFile
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
    """The id of an indexed image or a text; words to add and remove, with their strengths; the number of results."""

    id: ImageId | None = Field(default=None, description="Id of the indexed image to search by.")
    text: Annotated[str, Field(max_length=TEXT_LENGTH)] | None = Field(default=None, description="Text to search by.")
    add: Phrases = Field(default=[], description="Words to add, optionally weighted as `snow:2`; repeatable.")
    remove: Phrases = Field(default=[], description="Words to remove, optionally weighted; repeatable.")
    alpha: Weight = Field(default=ADD, description="Strength of added words.")
    beta: Weight = Field(default=REMOVE, description="Strength of removed words.")
    top: int = Field(default=10, ge=1, le=TOP_LIMIT, description="Number of results.")
    recall: float = Field(
        default=RECALL, ge=0, le=1, description="Minimum recall of an approximate index; 1 searches exactly."
    )

    def query(self, index: ServedIndex, upload_D: np.ndarray | None = None) -> Query:
        """Return the query, given the embedding of an upload. Raises InputError, MissingImage for the id."""
        if self.id is not None:
            index.searcher.row(self.id)
        if upload_D is not None:
            if self.id is not None or self.text is not None:
                raise InputError("Give exactly one query: an image, the id of an indexed image, or a text.")
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

    image: UploadFile | None = Field(default=None, description="Image file to search by.")


FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


def require_form(content_type: Annotated[str | None, Header(include_in_schema=False)] = None) -> None:
    """Refuse a body of another type, which would otherwise be taken for an empty form (415)."""
    if content_type is not None and not content_type.lower().startswith(FORMS):
        raise HTTPException(415, f"Send the parameters as a form ({FORMS[0]}), not as {content_type}.")
