"""REST: searching, words, reasons, and what is served."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi import Query as Parameters

from scenekin.web.errors import Problem
from scenekin.web.parameters import Question, UploadQuestion
from scenekin.web.responses import IndexAnswer, SearchAnswer, Word, WordsAnswer, index_answer, search_answer
from scenekin.web.served_index import LiveIndex, Served

router = APIRouter(
    prefix="/api",
    tags=["search"],
    responses={status: {"model": Problem} for status in (404, 422, 503)},
)


@router.get("/index")
async def index(live: LiveIndex) -> IndexAnswer:
    """The index that is served, and its model."""
    return await live.look(index_answer)


@router.get("/search")
async def search(question: Annotated[Question, Parameters()], live: LiveIndex) -> SearchAnswer:
    """The nearest images of an indexed image or of a text, moved by words."""

    def work(served: Served) -> SearchAnswer:
        return search_answer(served, question, question.query(served), question.id)

    return await live.look(work)


@router.post("/search", responses={status: {"model": Problem} for status in (400, 413, 415)})
async def search_upload(
    question: Annotated[UploadQuestion, Form(media_type="multipart/form-data")], live: LiveIndex
) -> SearchAnswer:
    """As by GET, or of an image that is uploaded."""
    upload = question.image

    def work(served: Served) -> SearchAnswer:
        query = question.query(served, upload.file if upload is not None else None)
        return search_answer(served, question, query, upload.filename if upload is not None else question.id)

    return await live.compute(work)


@router.get("/words")
async def words(
    live: LiveIndex,
    prefix: Annotated[str, Parameters(max_length=200)] = "",
    top: Annotated[int, Parameters(ge=1, le=50)] = 8,
) -> WordsAnswer:
    """Words that the model knows, to complete a prefix with."""

    def work(served: Served) -> WordsAnswer:
        found = served.searcher.text.complete(prefix, top)
        return WordsAnswer(words=[Word(word=word, images=images) for word, images in found])

    return await live.look(work)
