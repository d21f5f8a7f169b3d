"""Pictures of indexed images, by id: no path comes from a request, and only pixels leave."""

from typing import Annotated

from fastapi import APIRouter, Header, Request
from starlette.responses import Response

from scenekin.web.errors import Problem
from scenekin.web.parameters import ImageId
from scenekin.web.served_index import LiveIndex, Served
from scenekin.web.thumbnails import SIDE, Cache, Size, render

router = APIRouter(tags=["images"])


@router.get(
    "/images/{image_id:path}",
    response_class=Response,
    responses={
        200: {"content": {"image/jpeg": {}}, "description": "A JPEG."},
        304: {"description": "The picture that the browser has."},
        404: {"model": Problem},
        422: {"model": Problem},
        503: {"model": Problem},
    },
)
async def image(
    image_id: ImageId,
    request: Request,
    live: LiveIndex,
    size: Size = "picture",
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """An indexed image as it is shown: upright, as JPEG, its longer side at most 480 or 1,600 pixels."""
    cache: Cache = request.app.state.cache

    def look(served: Served) -> Response:
        digest = served.digest(image_id)
        headers = {"etag": f'"{digest[:32]}-{size}"', "cache-control": "private, no-cache"}
        if if_none_match == headers["etag"]:
            return Response(status_code=304, headers=headers)
        picture = cache.get((digest, size), lambda: render(served.read(image_id), SIDE[size]))
        return Response(picture, media_type="image/jpeg", headers=headers)

    return await live.look(look)
