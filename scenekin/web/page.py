"""The page, rendered here: searching works without JavaScript, which adds dropping, chips and heat maps."""

from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, Response

from scenekin.web.errors import TOLD, described
from scenekin.web.served_index import Live, LiveIndex
from scenekin.web.view import Items, View, render_page, upload_of, view_of

router = APIRouter(include_in_schema=False)

ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


@router.get("/")
async def ask(request: Request, live: LiveIndex) -> Response:
    """The page, with the results of what its address asks."""
    return await _page(live, request.query_params)


@router.post("/")
async def ask_by_form(request: Request, live: LiveIndex) -> Response:
    """The page, with the results of what its form asks."""
    try:
        async with request.form(max_files=1, max_fields=100) as form:
            return await _page(live, form)
    except TOLD as error:
        return await _page(live, QueryParams(), error)


@router.get("/{name}")
async def asset(name: str) -> Response:
    """A file that the page loads."""
    if name not in ASSETS:
        raise HTTPException(404, "There is nothing here.")
    return Response((files("scenekin.web") / name).read_bytes(), media_type=ASSETS[name])


async def _page(live: Live, items: Items, error: Exception | None = None) -> Response:
    lane = live.compute if upload_of(items) else live.look
    try:
        view = await lane(lambda served: view_of(served, items, error))
    except TOLD as told:
        status, problem = described(told)
        view = View(status=status, problem=problem)
    return HTMLResponse(render_page(view), view.status)
