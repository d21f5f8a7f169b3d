"""The public Python API, pinned: a change here is a change for users."""

import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import scenekin

ROOT = Path(__file__).parents[2]
NAMES = {
    *("InputError", "MissingImage", "NoTextModel", "StorageError", "__version__"),
    *("Query", "Result", "Searcher"),
    *("ndcg", "nearest_neighbours", "pcc", "rmac", "triplet_loss"),
}
FUNCTIONS = {
    "ndcg": "(relevance_QN, score_QN, at)",
    "nearest_neighbours": "(tfidf_csr, k, *, copies=None, client=None, block_rows=512, on_step=...)",
    "pcc": "(relevance_QN, score_QN, at)",
    "rmac": "(feature_map_BCHW, scales=2)",
    "triplet_loss": "(query_TD, relevant_TD, nonrelevant_TD, margin)",
}
QUERY = "image=None, *, image_id=None, text=None, add=(), remove=(), alpha=1.0, beta=0.5"
METHODS = {
    "caption_of": "(self, image_id)",
    "captions_of": "(self, row_N)",
    "current": "(self)",
    "digest_of": "(self, image_id)",
    "effort": "(self, top, recall)",
    "embed": "(self, image)",
    "embedding_of": "(self, image_id)",
    "embeddings_of": "(self, rows)",
    "explain": "(self, a, b)",
    "location_of": "(self, image_id)",
    "model": "(self)",
    "nearest": "(self, query, top=10, recall=0.95)",
    "open": "(cls, workspace=None, name='main')",
    "query": f"(self, {QUERY})",
    "ranked": "(self, query_BD, top, recall=0.95)",
    "read": "(self, image)",
    "read_indexed": "(self, image_id, *, follow_links=True)",
    "row": "(self, image_id)",
    "row_of": "(self)",
    "search": f"(self, {QUERY}, top=10, recall=0.95)",
    "text": "(self)",
    "words": "(self, add=(), remove=(), alpha=1.0, beta=0.5, text='')",
}
RECORDS = {
    "Query": ["added", "removed", "unknown_terms", "suggestions", "passed_over", "directions", "embedding_D"],
    "Result": ["rank", "image_id", "path", "score"],
}


def signature(function: object) -> str:
    """Parameters with their defaults, without annotations."""
    function = getattr(function, "__func__", getattr(function, "func", function))
    parameters = [
        parameter.replace(
            annotation=inspect.Parameter.empty, default=... if callable(parameter.default) else parameter.default
        )
        if parameter.default is not inspect.Parameter.empty
        else parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    ]
    return str(inspect.Signature(parameters)).replace("Ellipsis", "...")


def test_the_names_are_pinned() -> None:
    assert set(scenekin.__all__) == NAMES
    assert dir(scenekin) == scenekin.__all__ == sorted(scenekin.__all__)
    for name in NAMES - {"__version__"}:
        assert getattr(scenekin, name).__name__ == name


def test_the_signatures_are_pinned() -> None:
    assert {name: signature(getattr(scenekin, name)) for name in FUNCTIONS} == FUNCTIONS
    members = {name: value for name, value in vars(scenekin.Searcher).items() if not name.startswith("_")}
    assert {name: signature(value) for name, value in members.items()} == METHODS
    assert {name: list(inspect.signature(getattr(scenekin, name)).parameters) for name in RECORDS} == RECORDS


def test_the_errors_are_pinned() -> None:
    assert issubclass(scenekin.InputError, ValueError)
    assert issubclass(scenekin.StorageError, RuntimeError)
    assert issubclass(scenekin.MissingImage, scenekin.InputError)
    assert issubclass(scenekin.NoTextModel, scenekin.InputError)


def test_the_version_is_that_of_the_distribution() -> None:
    assert scenekin.__version__ == version("scenekin")


def test_the_packages_are_typed() -> None:
    assert all((ROOT / package / "py.typed").exists() for package in ("flows", "scenekin", "storage", "tasks"))


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'agreement_of_nobody'"):
        scenekin.agreement_of_nobody  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import scenekin, sys; print(sorted({'torch', 'mlflow', 'prefect', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_measuring_needs_no_network() -> None:
    script = "from scenekin import ndcg; import sys; print(sorted({'torch', 'mlflow', 'prefect'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
