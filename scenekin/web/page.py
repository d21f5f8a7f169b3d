"""The page, rendered on the server: search works without JavaScript, which adds drag and drop, chips and heat maps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.datastructures import FormData, QueryParams, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import HTMLResponse, Response

from scenekin.web.errors import EXPECTED_ERRORS, describe_error
from scenekin.web.middleware import TOO_LARGE, UPLOAD_BYTES
from scenekin.web.parameters import require_form
from scenekin.web.served_index import CurrentIndex, CurrentIndexDep
from scenekin.web.thumbnails import render
from scenekin.web.view import QUERY_SIDE, FormItems, Upload, View, build_view, render_page, uploaded_file

router = APIRouter(include_in_schema=False)

FIELDS = 100
ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


@router.get("/")
async def search_by_address(request: Request, current: CurrentIndexDep) -> Response:
    """Return the page with the results of the search in its query string."""
    return await _page(current, request.query_params)


@router.post("/", dependencies=[Depends(require_form)])
async def search_by_form(request: Request, current: CurrentIndexDep) -> Response:
    """Return the page with the results of the search in its form."""
    try:
        async with _form(request) as (form, is_too_large):
            return await _page(current, form, HTTPException(413, TOO_LARGE) if is_too_large else None)
    except EXPECTED_ERRORS as error:
        return await _page(current, QueryParams(), error)
    except OSError as error:
        return await _page(current, QueryParams(), HTTPException(*describe_error(error)))


class _FormParser(MultiPartParser):
    """Reads all fields of a form; a picture beyond the limit is dropped."""

    picture_bytes = 0

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._current_part.file is not None:
            self.picture_bytes += end - start
        if self.picture_bytes <= UPLOAD_BYTES or self._current_part.file is None:
            super().on_part_data(data, start, end)

    def close(self) -> None:
        """Remove temporary files, also of a part without an end."""
        for file in self._files_to_close_on_error:
            file.close()


@asynccontextmanager
async def _form(request: Request) -> AsyncIterator[tuple[FormData, bool]]:
    """Yield the form, and whether its picture is larger than the limit. Raises HTTPException."""
    if not request.headers.get("content-type", "").startswith("multipart/"):
        yield await request.form(max_fields=FIELDS), False
        return
    parser = _FormParser(request.headers, request.stream(), max_files=1, max_fields=FIELDS)
    try:
        yield await parser.parse(), parser.picture_bytes > UPLOAD_BYTES
    except MultiPartException as error:
        raise HTTPException(400, error.message) from error
    finally:
        parser.close()


@router.get("/{name}")
async def asset(name: str) -> Response:
    """Return a file that the page loads."""
    if name not in ASSETS:
        raise HTTPException(404, "Not found.")
    return Response((files("scenekin.web") / name).read_bytes(), media_type=ASSETS[name])


async def _page(current: CurrentIndex, items: FormItems, error: Exception | None = None) -> Response:
    upload = None
    if error is None and (file := uploaded_file(items)):
        try:
            upload = await _upload(current, file)
        except EXPECTED_ERRORS as failure:
            error = failure
    try:
        view = await current.look_up(lambda index: build_view(index, items, upload, error))
    except EXPECTED_ERRORS as failure:
        status, message = describe_error(failure)
        view = View(status=status, error=message)
    return HTMLResponse(render_page(view), view.status, getattr(error, "headers", None))


async def _upload(current: CurrentIndex, file: UploadFile) -> Upload:
    index, embedding_D = await current.embed(file.file)
    file.file.seek(0)
    jpeg = await current.show(lambda _: render(file.file.read(), QUERY_SIDE))
    return Upload(file.filename or "", index, embedding_D, jpeg)
