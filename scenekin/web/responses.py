"""The API's responses; they extend the JSON of `scenekin search --json`."""

from pydantic import BaseModel

from scenekin.searcher import Query
from scenekin.web.parameters import SearchParameters
from scenekin.web.served_index import ServedIndex


class ModelInfo(BaseModel):
    """The model that embedded the index; `words` is true if words can steer it."""

    name: str
    version: int
    words: bool


class IndexInfo(BaseModel):
    """The version of the index that was searched, and its number of images."""

    name: str
    version: int
    images: int


class SearchedIndex(IndexInfo):
    """With the measured recall of the search; 1 if it was exact."""

    recall: float


class SearchQuery(BaseModel):
    """The query as understood: terms that steer it, unknown words with known words like them, ignored terms."""

    image: str | None
    text: str | None
    added: list[str]
    removed: list[str]
    unknown_terms: list[str]
    suggestions: dict[str, list[str]]
    passed_over: dict[str, str]


class SearchResult(BaseModel):
    """One image; the score is a cosine similarity, the caption comes from the collection."""

    rank: int
    image_id: str
    path: str
    score: float
    caption: str | None


class IndexResponse(BaseModel):
    """The index and its model."""

    model: ModelInfo
    index: IndexInfo


class SearchResponse(IndexResponse):
    """The images nearest to a query, best first; `notes` explain which words have no effect."""

    index: SearchedIndex
    query: SearchQuery
    notes: list[str]
    results: list[SearchResult]


class Word(BaseModel):
    """A known word and the number of captioned images that use it."""

    word: str
    images: int


class WordsResponse(BaseModel):
    """Words with a prefix, most informative first; if there are none, words with a similar spelling."""

    words: list[Word]


def index_response(index: ServedIndex) -> IndexResponse:
    """Describe the index and its model."""
    manifest = index.manifest
    return IndexResponse(
        model=ModelInfo(name=manifest.model.name, version=manifest.model.version, words=index.no_words is None),
        index=IndexInfo(name=manifest.name, version=manifest.version, images=manifest.images),
    )


def search_response(
    index: ServedIndex, parameters: SearchParameters, query: Query, image: str | None
) -> SearchResponse:
    """Rank the index by a query; `image` is the id or file name of the query image. Raises InputError."""
    results = [
        SearchResult(
            rank=result.rank,
            image_id=result.image_id,
            path=result.path,
            score=result.score,
            caption=index.caption(result.image_id),
        )
        for result in index.searcher.nearest(query, parameters.top, parameters.recall)
    ]
    about = index_response(index)
    _, recall = index.searcher.effort(parameters.top, parameters.recall)
    return SearchResponse(
        model=about.model,
        index=SearchedIndex(**dict(about.index), recall=recall),
        query=SearchQuery(image=image, text=parameters.text, **query.facts),
        notes=query.notes,
        results=results,
    )
