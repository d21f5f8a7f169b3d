"""REST: why two images match, with heat maps (METHOD.md 7)."""

from typing import Annotated

from fastapi import APIRouter, Form, UploadFile
from fastapi import Query as Parameters
from pydantic import BaseModel

from scenekin.web.errors import Problem
from scenekin.web.parameters import ImageId
from scenekin.web.served_index import LiveIndex, Served
from scenekin.web.thumbnails import data_uri, fitted, to_jpeg
from tasks.errors import InputError
from tasks.search.explanation import Explanation
from tasks.search.heat import overlay

SIDE = 640  # pixels of a picture under its map

router = APIRouter(
    prefix="/api/explain",
    tags=["reasons"],
    responses={status: {"model": Problem} for status in (404, 415, 422, 503)},
)


class Pair(BaseModel):
    """The ids of two indexed images."""

    a: ImageId
    b: ImageId


class UploadPair(BaseModel):
    """An indexed image by id, and another, or an image that is uploaded."""

    a: ImageId | None = None
    image: UploadFile | None = None
    b: ImageId


class DimensionShare(BaseModel):
    """One dimension's part of the score."""

    index: int
    contribution: float


class Pictures(BaseModel):
    """Both pictures under their heat maps, upright, as data URIs."""

    a: str
    b: str


class ExplainAnswer(BaseModel):
    """The cosine of a pair, the dimensions that give most of it, and where in the pictures these come from."""

    score: float
    dimensions: list[DimensionShare]
    evidence: bool
    summary: str
    pictures: Pictures


@router.get("")
async def explain(pair: Annotated[Pair, Parameters()], live: LiveIndex) -> ExplainAnswer:
    """Why two indexed images match."""
    return await live.compute(lambda served: _explained(served, served.read(pair.a), served.read(pair.b)))


@router.post("", responses={status: {"model": Problem} for status in (400, 413)})
async def explain_upload(
    pair: Annotated[UploadPair, Form(media_type="multipart/form-data")], live: LiveIndex
) -> ExplainAnswer:
    """Why an image that is uploaded, or an indexed one, matches an indexed one."""

    def work(served: Served) -> ExplainAnswer:
        if pair.image is not None and pair.a is None:
            return _explained(served, pair.image.file.read(), served.read(pair.b))
        if pair.a is not None and pair.image is None:
            return _explained(served, served.read(pair.a), served.read(pair.b))
        raise InputError("Give an image or the id a, one of both.")

    return await live.compute(work)


def _explained(served: Served, a: bytes, b: bytes) -> ExplainAnswer:
    explanation = served.searcher.explain(a, b)
    pictures = [
        data_uri(to_jpeg(overlay(fitted(data, SIDE), map_HW)))
        for data, map_HW in ((a, explanation.map_a_HW), (b, explanation.map_b_HW))
    ]
    return ExplainAnswer(
        score=explanation.score,
        dimensions=[DimensionShare(index=d.index, contribution=d.contribution) for d in explanation.dimensions],
        evidence=explanation.evidence,
        summary=_summary(explanation),
        pictures=Pictures(a=pictures[0], b=pictures[1]),
    )


def _summary(explanation: Explanation) -> str:
    told = f"By themselves, these two pictures score {explanation.score:z.3f}."
    if not explanation.evidence:
        return f"{told} No place in either speaks for the match."
    most = sum(dimension.contribution for dimension in explanation.dimensions)
    return (
        f"{told} The {len(explanation.dimensions)} dimensions that agree most add {most:z.3f}; the bright places are "
        "where these see something."
    )
