"""The page and its API as one ASGI app: needs neither Prefect nor MLflow."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from anyio import create_task_group
from fastapi import FastAPI

from scenekin.web import api, explain, images, page
from scenekin.web.errors import tell_errors
from scenekin.web.middleware import AnswerHead, KnownHosts, LimitBody, SafeHeaders
from scenekin.web.served_index import Live
from scenekin.web.thumbnails import Cache
from storage.workspace import Workspace


def create_app(workspace: Workspace, name: str = "main", hosts: Iterable[str] = ()) -> FastAPI:
    """Serve an index of a workspace; where `hosts` are given, only to requests that call this server by one of them."""
    app = FastAPI(
        title="scenekin",
        summary="Find the images whose scene means the same.",
        version="1",
        docs_url=None,  # these pages load from elsewhere
        redoc_url=None,
        lifespan=_warmed,
    )
    app.state.live = Live(workspace, name)
    app.state.cache = Cache()
    app.add_middleware(AnswerHead)
    app.add_middleware(LimitBody)
    app.add_middleware(KnownHosts, hosts=hosts)
    app.add_middleware(SafeHeaders)
    tell_errors(app)
    for module in (api, explain, images, page):
        app.include_router(module.router)
    return app


@asynccontextmanager
async def _warmed(app: FastAPI) -> AsyncIterator[None]:
    """Load the network while the first visitor reads the page."""
    async with create_task_group() as group:
        group.start_soon(app.state.live.warm)
        yield
