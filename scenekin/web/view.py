"""What the page shows, found for one version of the index and rendered with everything escaped."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData, QueryParams, UploadFile

from scenekin.web.errors import TOLD, described
from scenekin.web.middleware import TOO_LARGE, UPLOAD_BYTES
from scenekin.web.parameters import TOP_LIMIT, Question
from scenekin.web.responses import IndexAnswer, SearchAnswer, index_answer, search_answer
from scenekin.web.served_index import Served
from scenekin.web.thumbnails import data_uri, render
from tasks.search.modifiers import ADD, REMOVE

SHOWN = 24  # results at first, and how many more each time
QUERY_SIDE = 640  # pixels of an uploaded picture as it is shown

Items = QueryParams | FormData


@dataclass
class View:
    """The index, or why there is none; what was asked; its answer, or why there is none."""

    index: IndexAnswer | None = None
    no_words: str | None = None
    question: Question = field(default_factory=lambda: Question(top=SHOWN))
    uploaded: bytes | None = None
    answer: SearchAnswer | None = None
    begin_with: list[tuple[str, str | None]] = field(default_factory=list)
    problem: str | None = None
    status: int = 200


def view_of(served: Served, items: Items, error: Exception | None = None) -> View:
    """The page that the items of an address or a form ask for; an error that reading them met is told."""
    view = View(index=index_answer(served), no_words=served.no_words)
    try:
        if error is not None:
            raise error
        view.question = _question(items)
        _search(served, view, upload_of(items))
    except TOLD as told:
        view.status, view.problem = described(told)
    if view.answer is None:
        view.begin_with = [(image_id, served.caption(image_id)) for image_id in _spread(served.searcher.image_ids)]
    return view


def upload_of(items: Items) -> UploadFile | None:
    """The file of a form, if one was chosen."""
    upload = items.get("image")
    return upload if isinstance(upload, UploadFile) and upload.filename else None


def _search(served: Served, view: View, upload: UploadFile | None) -> None:
    question, name = view.question, view.question.id
    if upload is not None:
        name, view.question = upload.filename, question.model_copy(update={"id": None, "text": None})
        query = view.question.query(served, upload.file)
        upload.file.seek(0)
        view.uploaded = render(upload.file.read(), QUERY_SIDE)
    elif question.id is not None or question.text is not None:
        query = question.query(served)
    else:
        return
    view.answer = search_answer(served, view.question, query, name)


def _question(items: Items) -> Question:
    """Fields that are empty count as not given, a text goes before an id, and commas part words."""
    given = {
        name: value
        for name in ("id", "text", "alpha", "beta", "top")
        if isinstance(value := items.get(name), str) and value.strip()
    }
    if "text" in given:
        given.pop("id", None)
    phrases = {name: list(_parted(items, name)) for name in ("add", "remove")}
    return Question.model_validate({"top": SHOWN, **given, **phrases})


def _parted(items: Items, name: str) -> Iterator[str]:
    for value in items.getlist(name):
        if isinstance(value, str):
            yield from (phrase for part in value.split(",") if (phrase := part.strip()))


def _spread(image_ids: list[str]) -> list[str]:
    """Some images from all over the index."""
    return image_ids[:: max(1, len(image_ids) // SHOWN)][:SHOWN]


def render_page(view: View) -> str:
    """The HTML of a view; whatever comes from data is escaped."""
    environment = Environment(
        loader=PackageLoader("scenekin.web", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"image_url": _image_url, "data_uri": data_uri}
    return environment.get_template("page.html.j2").render(
        view=view,
        search_url=lambda image_id: _search_url(image_id, view.question),
        more=min(TOP_LIMIT, view.question.top + SHOWN),
        limit=UPLOAD_BYTES,
        too_large=TOO_LARGE,
    )


def _image_url(image_id: str) -> str:
    return f"/images/{quote(image_id, safe='')}?size=thumbnail"


def _search_url(image_id: str, question: Question) -> str:
    """Search by an image with the same words."""
    fields = {"id": image_id, "add": question.add, "remove": question.remove}
    usual = {"alpha": (question.alpha, ADD), "beta": (question.beta, REMOVE)}
    unusual = {name: weight for name, (weight, default) in usual.items() if weight != default}
    return "/?" + urlencode(fields | unusual, doseq=True)
