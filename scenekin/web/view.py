"""The contents of the page for one version of the index, and its HTML."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData, QueryParams, UploadFile

from scenekin.searcher import RECALL
from scenekin.web.errors import EXPECTED_ERRORS, describe_error
from scenekin.web.middleware import TOO_LARGE, UPLOAD_BYTES
from scenekin.web.parameters import TOP_LIMIT, SearchParameters
from scenekin.web.responses import IndexResponse, SearchResponse, index_response, search_response
from scenekin.web.served_index import ServedIndex
from scenekin.web.thumbnails import data_uri
from storage.index.images import images_are_missing
from tasks.phrases import counted
from tasks.search.modifiers import ADD, REMOVE

SHOWN = 24  # results at first and with each "Show more"
QUERY_SIDE = 640  # pixels of the longer side of an uploaded image on the page
DEFAULTS = {"alpha": ADD, "beta": REMOVE, "recall": RECALL}  # of the settings
RECALLS = (0.8, 0.9, RECALL, 0.99, 1.0)  # offered where the index is approximate

FormItems = QueryParams | FormData


class Sample(NamedTuple):
    """An image to begin with."""

    image_id: str
    path: str
    caption: str | None


@dataclass(frozen=True)
class Upload:
    """An uploaded image as the query, embedded by one version of the index."""

    name: str
    index: ServedIndex
    embedding_D: np.ndarray
    jpeg: bytes


@dataclass
class View:
    """What the page shows. `index` is None if there is no usable index, `response` if there was no valid search."""

    index: IndexResponse | None = None
    no_words: str | None = None
    approximate: bool = False
    images_are_missing: bool = False
    parameters: SearchParameters = field(default_factory=lambda: SearchParameters(top=SHOWN))
    uploaded: bytes | None = None
    response: SearchResponse | None = None
    samples: list[Sample] = field(default_factory=list)
    error: str | None = None
    status: int = 200


def build_view(
    index: ServedIndex, items: FormItems, upload: Upload | None = None, error: Exception | None = None
) -> View:
    """Run the search in a query string or form; `error` is one that occurred before it."""
    index = upload.index if upload is not None else index
    approximate = index.manifest.approximate is not None
    view = View(index=index_response(index), no_words=index.no_words, approximate=approximate)
    view.images_are_missing = images_are_missing(index.manifest)
    fields = _fields(items)
    try:
        typed = {name: fields[name] for name in ("id", "text", "add", "remove") if name in fields}
        view.parameters = SearchParameters.model_construct(top=SHOWN, **typed)  # kept if validation fails
        if error is not None:
            raise error
        view.parameters = SearchParameters.model_validate(fields)
        _search(index, view, upload)
    except EXPECTED_ERRORS as failure:
        view.status, view.error = describe_error(failure)
    if view.response is None:
        ids = index.searcher.image_ids
        view.samples = [Sample(name, index.path(name), index.caption(name)) for name in _spread(ids)]
    return view


def uploaded_file(items: FormItems) -> UploadFile | None:
    """Return the file of a form, if one was chosen."""
    upload = items.get("image")
    return upload if isinstance(upload, UploadFile) and upload.filename else None


def _search(index: ServedIndex, view: View, upload: Upload | None) -> None:
    parameters = view.parameters
    if upload is not None:
        parameters = parameters.model_copy(update={"id": None, "text": None})
        query = parameters.query(index, upload.embedding_D)
        view.uploaded = upload.jpeg
    elif parameters.id is not None or parameters.text is not None:
        query = parameters.query(index)
    else:
        return
    view.parameters = parameters
    view.response = search_response(index, parameters, query, upload.name if upload is not None else parameters.id)


def _fields(items: FormItems) -> dict[str, Any]:
    """Return the search parameters in a form: empty fields are dropped, text precedes id, commas separate phrases."""
    fields: dict[str, Any] = {"top": SHOWN}
    for name in ("id", "text", "alpha", "beta", "recall", "top"):
        value = items.get(name)
        if isinstance(value, str) and value.strip():
            fields[name] = value
    if "text" in fields:
        fields.pop("id", None)
    return fields | {name: list(_phrases(items, name)) for name in ("add", "remove")}


def _phrases(items: FormItems, name: str) -> Iterator[str]:
    for value in items.getlist(name):
        if isinstance(value, str):
            yield from (phrase for part in value.split(",") if (phrase := part.strip()))


def _spread(image_ids: list[str]) -> list[str]:
    """Return SHOWN images, evenly spaced over the index."""
    return image_ids[:: max(1, len(image_ids) // SHOWN)][:SHOWN]


def render_page(view: View) -> str:
    """Return the page as HTML; all data is escaped."""
    environment = Environment(
        loader=PackageLoader("scenekin.web", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "image_url": _image_url,
        "data_uri": data_uri,
        "file_name": _file_name,
        "counted": counted,
        "folder_name": _folder_name,
    }
    return environment.get_template("page.html.j2").render(
        view=view,
        defaults=DEFAULTS,
        recalls=sorted({*RECALLS, float(view.parameters.recall)}),
        search_url=lambda image_id: _search_url(image_id, view.parameters),
        more=min(TOP_LIMIT, view.parameters.top + SHOWN),
        upload_limit=UPLOAD_BYTES,
        too_large=TOO_LARGE,
    )


def _image_url(image_id: str, size: str) -> str:
    return f"/images/{quote(image_id, safe='')}?size={size}"


def _file_name(path: str) -> str:
    return PurePosixPath(path).name


def _folder_name(path: str) -> str:
    folder = str(PurePosixPath(path).parent)
    return "" if folder == "." else folder


def _search_url(image_id: str, parameters: SearchParameters) -> str:
    """Return the address of a new search by an indexed image, with the same settings but without words."""
    settings = {name: getattr(parameters, name) for name, default in DEFAULTS.items()}
    changed = {name: value for name, value in settings.items() if value != DEFAULTS[name]}
    return "/?" + urlencode({"id": image_id} | changed)
