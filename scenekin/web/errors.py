"""Errors as people read them: a status and one sentence, as JSON."""

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from scenekin.errors import MissingImage
from scenekin.web.middleware import HEADERS
from storage.errors import StorageError
from tasks.errors import InputError
from tasks.images.decode import UnreadableImage


class Problem(BaseModel):
    """Why there is no answer, in one sentence."""

    detail: str


def sentence(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An answer that is an error."""
    return JSONResponse(Problem(detail=text).model_dump(), status, headers)


def described(error: Exception) -> tuple[int, str]:
    """The status and the sentence of an error that a person may cause."""
    match error:
        case HTTPException():
            return error.status_code, str(error.detail)
        case ValidationError() | RequestValidationError():
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"] if part not in {"query", "body", "path"})
            return 422, f"{name or 'The request'}: {first['msg']}."
        case MissingImage():
            return 404, str(error)
        case InputError():
            unreadable = isinstance(error, UnreadableImage) or isinstance(error.__cause__, UnreadableImage)
            return 415 if unreadable else 422, str(error)
        case StorageError():
            return 503, str(error)
    raise error


TOLD = (HTTPException, ValidationError, RequestValidationError, InputError, StorageError)
"""Errors that `described` knows."""


def tell_errors(app: FastAPI) -> None:
    """Let the app answer with a sentence where a request fails."""

    async def answer(_: Request, error: Exception) -> JSONResponse:
        status, text = described(error)
        return sentence(status, text, getattr(error, "headers", None))

    async def unexpected(_: Request, __: Exception) -> JSONResponse:  # outside of what adds headers elsewhere
        return sentence(500, "This failed; what went wrong is said where `scenekin serve` runs.", HEADERS)

    for kind in TOLD:
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(Exception, unexpected)
