"""Indexed images by id, as JPEG or as the original file. No path comes from a request."""

from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Header, Request
from fastapi import Path as PathParameter
from fastapi import Query as QueryString
from starlette.responses import Response

from scenekin.web.errors import ErrorResponse
from scenekin.web.parameters import ImageId
from scenekin.web.served_index import CurrentIndexDep, ServedIndex
from scenekin.web.thumbnails import SIDE, ByteCache, render
from tasks.collection.image_names import EXTENSION
from tasks.images.signatures import image_type

router = APIRouter(tags=["images"])

DISPLAYED = {"image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp"}
"""Types that browsers display; originals of other types are downloaded."""
DOWNLOADED = "application/octet-stream"
Size = Literal["thumbnail", "picture", "original"]


@router.get(
    "/images/{image_id:path}",
    response_class=Response,
    responses={
        200: {"content": {kind: {} for kind in sorted({*DISPLAYED, DOWNLOADED})}, "description": "The image."},
        304: {"description": "The browser's copy is current."},
        404: {"model": ErrorResponse},
        422: {"model": ErrorResponse},
        503: {"model": ErrorResponse},
    },
)
async def image(
    image_id: Annotated[ImageId, PathParameter(description="Id of an indexed image.")],
    request: Request,
    current: CurrentIndexDep,
    size: Annotated[
        Size, QueryString(description="At most 480 or 1,600 pixels a side, or the file itself.")
    ] = "picture",
    if_none_match: Annotated[str | None, Header(description="ETag of the client's copy.")] = None,
) -> Response:
    """Return an indexed image: an upright JPEG of at most 480 or 1,600 pixels a side, or the original file."""
    thumbnails: ByteCache = request.app.state.thumbnails

    def work(index: ServedIndex) -> Response:
        digest = index.digest(image_id)
        headers = {"etag": f'"{digest[:32]}-{size}"', "cache-control": "private, no-cache"}
        if if_none_match == headers["etag"]:
            return Response(status_code=304, headers=headers)
        if size == "original":
            return _original(index.read(image_id), PurePosixPath(index.path(image_id)).name, headers)
        jpeg = thumbnails.get((digest, size), lambda: render(index.read(image_id), SIDE[size]))
        return Response(jpeg, media_type="image/jpeg", headers=headers)

    return await current.show(work)


def _original(data: bytes, name: str, headers: dict[str, str]) -> Response:
    """Return a file under its own name. Browsers never interpret it as anything but an image.

    An image inside a Parquet file has no name of its own; it gets the extension of its type.
    """
    if not EXTENSION.search(name) and (found := image_type(data)):
        name = f"{name}.{found.lower()}"
    kind, _ = guess_type(name)
    displayed = kind in DISPLAYED
    disposition = f"{'inline' if displayed else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}"
    return Response(
        data, media_type=kind if displayed else DOWNLOADED, headers={**headers, "content-disposition": disposition}
    )
