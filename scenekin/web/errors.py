"""Errors as HTTP responses: a status and one sentence, as JSON."""

import errno
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from scenekin.errors import MissingImage
from scenekin.web.middleware import SECURITY_HEADERS
from storage.errors import StorageError
from tasks.errors import InputError
from tasks.images.decode import UnreadableImage
from tasks.invalid import clauses

EXPECTED_ERRORS = (HTTPException, ValidationError, RequestValidationError, InputError, StorageError)
"""Errors that a request or the state of the index may cause."""


class ErrorResponse(BaseModel):
    """Why a request failed, in one sentence."""

    detail: str


def error_response(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error as JSON."""
    return JSONResponse(ErrorResponse(detail=detail).model_dump(), status, headers)


def describe_error(error: Exception) -> tuple[int, str]:
    """Return the status and message of an expected error; raise any other again."""
    match error:
        case _ if _is_disk_full(error) or _is_disk_full(error.__cause__):
            return 507, "The server's temporary disk is full, so it cannot take uploads; try again later."
        case HTTPException():
            return error.status_code, str(error.detail)
        case ValidationError() | RequestValidationError():
            return 422, f"{'; '.join(clauses(error.errors()))}."
        case MissingImage():
            return 404, str(error)
        case InputError():
            unreadable = isinstance(error, UnreadableImage) or isinstance(error.__cause__, UnreadableImage)
            return 415 if unreadable else 422, str(error)
        case StorageError():
            return 503, str(error)
    raise error


def _is_disk_full(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


def add_error_handlers(app: FastAPI) -> None:
    """Make the app return every error as an `ErrorResponse`."""

    async def expected(_: Request, error: Exception) -> JSONResponse:
        status, detail = describe_error(error)
        return error_response(status, detail, getattr(error, "headers", None))

    async def unexpected(_: Request, __: Exception) -> JSONResponse:  # runs outside the middleware that adds headers
        return error_response(500, "Internal error; see the server's log.", SECURITY_HEADERS)

    for kind in EXPECTED_ERRORS:
        app.add_exception_handler(kind, expected)
    app.add_exception_handler(Exception, unexpected)
