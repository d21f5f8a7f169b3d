"""REST endpoints: search, word completion, and information about the index."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form
from fastapi import Query as QueryString

from scenekin.web.errors import ErrorResponse
from scenekin.web.parameters import SearchParameters, UploadSearchParameters, require_form
from scenekin.web.responses import IndexResponse, SearchResponse, Word, WordsResponse, index_response, search_response
from scenekin.web.served_index import CurrentIndexDep, ServedIndex

router = APIRouter(
    prefix="/api",
    tags=["search"],
    responses={status: {"model": ErrorResponse} for status in (404, 422, 503)},
)


@router.get("/index")
async def index(current: CurrentIndexDep) -> IndexResponse:
    """Return the name, version and size of the index, and its model."""
    return await current.look_up(index_response)


@router.get("/search")
async def search(parameters: Annotated[SearchParameters, QueryString()], current: CurrentIndexDep) -> SearchResponse:
    """Return the images nearest to an indexed image or to a text, steered by words."""

    def work(index: ServedIndex) -> SearchResponse:
        return search_response(index, parameters, parameters.query(index), parameters.id)

    return await current.look_up(work)


@router.post(
    "/search",
    dependencies=[Depends(require_form)],
    responses={status: {"model": ErrorResponse} for status in (400, 403, 408, 413, 415, 507)},
)
async def search_upload(
    parameters: Annotated[UploadSearchParameters, Form(media_type="multipart/form-data")], current: CurrentIndexDep
) -> SearchResponse:
    """Return the images nearest to an uploaded image, or search as by GET."""
    upload = parameters.image
    if upload is None:
        return await search(parameters, current)
    index, upload_D = await current.embed(upload.file)

    def work(_: ServedIndex) -> SearchResponse:
        return search_response(index, parameters, parameters.query(index, upload_D), upload.filename)

    return await current.look_up(work)


@router.get("/words")
async def words(
    current: CurrentIndexDep,
    prefix: Annotated[str, QueryString(max_length=200, description="Text whose last word is completed.")] = "",
    top: Annotated[int, QueryString(ge=1, le=50, description="Number of words.")] = 8,
) -> WordsResponse:
    """Return known words that complete the last word of `prefix`."""

    def work(index: ServedIndex) -> WordsResponse:
        completions = index.searcher.text.complete(prefix, top)
        return WordsResponse(words=[Word(word=word, images=images) for word, images in completions])

    return await current.look_up(work)
