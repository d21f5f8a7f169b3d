"""The page, rendered on the server: search works without JavaScript, which adds drag and drop, chips and heat maps."""

from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, Response

from scenekin.web.errors import EXPECTED_ERRORS, describe_error
from scenekin.web.served_index import CurrentIndex, CurrentIndexDep
from scenekin.web.view import FormItems, View, build_view, render_page, uploaded_file

router = APIRouter(include_in_schema=False)

ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


@router.get("/")
async def search_by_address(request: Request, current: CurrentIndexDep) -> Response:
    """Return the page with the results of the search in its query string."""
    return await _page(current, request.query_params)


@router.post("/")
async def search_by_form(request: Request, current: CurrentIndexDep) -> Response:
    """Return the page with the results of the search in its form."""
    try:
        async with request.form(max_files=1, max_fields=100) as form:
            return await _page(current, form)
    except EXPECTED_ERRORS as error:
        return await _page(current, QueryParams(), error)


@router.get("/{name}")
async def asset(name: str) -> Response:
    """Return a file that the page loads."""
    if name not in ASSETS:
        raise HTTPException(404, "Not found.")
    return Response((files("scenekin.web") / name).read_bytes(), media_type=ASSETS[name])


async def _page(current: CurrentIndex, items: FormItems, error: Exception | None = None) -> Response:
    run = current.compute if uploaded_file(items) else current.look_up
    try:
        view = await run(lambda index: build_view(index, items, error))
    except EXPECTED_ERRORS as failure:
        status, message = describe_error(failure)
        view = View(status=status, error=message)
    return HTMLResponse(render_page(view), view.status)
