"""The web page and its REST API as one ASGI app; needs neither Prefect nor MLflow."""

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from anyio import create_task_group
from fastapi import FastAPI

from scenekin.web import api, explain, images, page
from scenekin.web.errors import add_error_handlers
from scenekin.web.middleware import (
    AllowedHosts,
    BodyLimit,
    CancelOnDisconnect,
    HeadRequests,
    SameOrigin,
    SecurityHeaders,
)
from scenekin.web.served_index import CurrentIndex
from scenekin.web.thumbnails import ByteCache
from storage.workspace import Workspace

logging.getLogger("python_multipart").setLevel(logging.ERROR)  # else every broken form is a line in the log


def create_app(workspace: Workspace, name: str = "main", hosts: Iterable[str] = ()) -> FastAPI:
    """Return an app that serves one index; with `hosts`, requests for any other host name are refused."""
    app = FastAPI(
        title="scenekin",
        summary="Find images that show the same kind of scene.",
        version="1",
        docs_url=None,  # FastAPI's documentation pages load scripts from a CDN
        redoc_url=None,
        lifespan=_preload,
    )
    app.state.index = CurrentIndex(workspace, name)
    app.state.thumbnails = ByteCache()
    app.add_middleware(HeadRequests)
    app.add_middleware(BodyLimit)
    app.add_middleware(CancelOnDisconnect)
    app.add_middleware(SameOrigin)
    app.add_middleware(AllowedHosts, hosts=hosts)
    app.add_middleware(SecurityHeaders)
    add_error_handlers(app)
    for module in (api, explain, images, page):
        app.include_router(module.router)
    return app


@asynccontextmanager
async def _preload(app: FastAPI) -> AsyncIterator[None]:
    """Load the model while the first visitor reads the page."""
    async with create_task_group() as group:
        group.start_soon(app.state.index.preload)
        yield
