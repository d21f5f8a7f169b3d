"""What the API answers with; keys are those of `scenekin search --json`, and more."""

from pydantic import BaseModel

from scenekin.searcher import Query
from scenekin.web.parameters import Question
from scenekin.web.served_index import Served


class ModelName(BaseModel):
    """The model that embedded the index; `words` says whether words steer it."""

    name: str
    version: int
    words: bool


class IndexName(BaseModel):
    """The version that answers, and how many images it has."""

    name: str
    version: int
    images: int


class SearchedIndex(IndexName):
    """With the measured share of the nearest images that its search finds; 1 where it looks at all of them."""

    recall: float


class Asked(BaseModel):
    """The query as it was understood: known words spelled like unknown ones, and why terms move nothing."""

    image: str | None
    text: str | None
    added: list[str]
    removed: list[str]
    unknown_terms: list[str]
    suggestions: dict[str, list[str]]
    passed_over: dict[str, str]


class Found(BaseModel):
    """One image found; the score is a cosine, the caption what the collection says of it, if anything."""

    rank: int
    image_id: str
    path: str
    score: float
    caption: str | None


class IndexAnswer(BaseModel):
    """What is served."""

    model: ModelName
    index: IndexName


class SearchAnswer(IndexAnswer):
    """The nearest images of a query, best first; notes say which words move nothing."""

    index: SearchedIndex
    query: Asked
    notes: list[str]
    results: list[Found]


class Word(BaseModel):
    """A word that the model knows, and how many captioned images used it."""

    word: str
    images: int


class WordsAnswer(BaseModel):
    """Words to complete a prefix with, those that tell most first; where it fits none, words spelled like it."""

    words: list[Word]


def index_answer(served: Served) -> IndexAnswer:
    """What is served."""
    manifest = served.manifest
    return IndexAnswer(
        model=ModelName(name=manifest.model.name, version=manifest.model.version, words=served.no_words is None),
        index=IndexName(name=manifest.name, version=manifest.version, images=manifest.images),
    )


def search_answer(served: Served, question: Question, query: Query, image: str | None) -> SearchAnswer:
    """The ranking of a query; `image` is the id or the name of the file that was asked by. Raises InputError."""
    found = [
        Found(
            rank=result.rank,
            image_id=result.image_id,
            path=result.path,
            score=result.score,
            caption=served.caption(result.image_id),
        )
        for result in served.searcher.nearest(query, question.top, question.recall)
    ]
    asked = Asked(image=image, text=question.text, **query.facts)
    told = index_answer(served)
    _, recall = served.searcher.effort(question.top, question.recall)
    index = SearchedIndex(**dict(told.index), recall=recall)
    return SearchAnswer(model=told.model, index=index, query=asked, notes=query.notes, results=found)
