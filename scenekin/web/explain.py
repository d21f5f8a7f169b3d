"""REST endpoint: why two images match, with heat maps (METHOD.md 7)."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, UploadFile
from fastapi import Query as QueryString
from pydantic import BaseModel, Field

from scenekin.web.errors import ErrorResponse
from scenekin.web.parameters import ImageId, require_form
from scenekin.web.served_index import CurrentIndexDep, ServedIndex, read_upload
from scenekin.web.thumbnails import data_uri, encode_jpeg, fit
from tasks.errors import InputError
from tasks.search.explanation import Explanation
from tasks.search.heat import overlay

SIDE = 640  # pixels of an image's longer side under its heat map

router = APIRouter(
    prefix="/api/explain",
    tags=["explain"],
    responses={status: {"model": ErrorResponse} for status in (404, 415, 422, 503)},
)


class ExplainParameters(BaseModel):
    """The ids of two indexed images."""

    a: ImageId = Field(description="Id of an indexed image.")
    b: ImageId = Field(description="Id of another.")


class UploadExplainParameters(BaseModel):
    """An uploaded image or the id of an indexed one, and the id of another."""

    a: ImageId | None = Field(default=None, description="Id of an indexed image, if none is uploaded.")
    image: UploadFile | None = Field(default=None, description="Image file.")
    b: ImageId = Field(description="Id of an indexed image.")


class DimensionShare(BaseModel):
    """The contribution of one embedding dimension to the score."""

    index: int
    contribution: float


class Pictures(BaseModel):
    """Both images under their heat maps, upright, as data URIs."""

    a: str
    b: str


class ExplainResponse(BaseModel):
    """The cosine similarity of a pair, the dimensions that contribute most, and heat maps of where they respond."""

    score: float
    dimensions: list[DimensionShare]
    evidence: bool
    summary: str
    pictures: Pictures


@router.get("")
async def explain(parameters: Annotated[ExplainParameters, QueryString()], current: CurrentIndexDep) -> ExplainResponse:
    """Explain why two indexed images match."""
    return await current.compute(
        lambda index: _explain(index, index.read(parameters.a), index.read(parameters.b)),
    )


@router.post(
    "",
    dependencies=[Depends(require_form)],
    responses={status: {"model": ErrorResponse} for status in (400, 403, 408, 413, 507)},
)
async def explain_upload(
    parameters: Annotated[UploadExplainParameters, Form(media_type="multipart/form-data")], current: CurrentIndexDep
) -> ExplainResponse:
    """Explain why an uploaded or indexed image matches an indexed one."""

    def work(index: ServedIndex) -> ExplainResponse:
        if parameters.image is not None and parameters.a is None:
            return _explain(index, read_upload(parameters.image.file), index.read(parameters.b))
        if parameters.a is not None and parameters.image is None:
            return _explain(index, index.read(parameters.a), index.read(parameters.b))
        raise InputError("Give either `image` (a file) or `a` (the id of an indexed image).")

    return await current.compute(work)


def _explain(index: ServedIndex, a: bytes, b: bytes) -> ExplainResponse:
    explanation = index.searcher.explain(a, b)
    pictures = [
        data_uri(encode_jpeg(overlay(fit(data, SIDE), map_HW)))
        for data, map_HW in ((a, explanation.map_a_HW), (b, explanation.map_b_HW))
    ]
    return ExplainResponse(
        score=explanation.score,
        dimensions=[DimensionShare(index=d.index, contribution=d.contribution) for d in explanation.dimensions],
        evidence=explanation.evidence,
        summary=_summary(explanation),
        pictures=Pictures(a=pictures[0], b=pictures[1]),
    )


def _summary(explanation: Explanation) -> str:
    similarity = f"Similarity of the two images, without words: {explanation.score:z.3f}."
    if not explanation.evidence:
        return f"{similarity} No region of either image supports the match."
    return f"{similarity} Bright regions contribute most to the match."
