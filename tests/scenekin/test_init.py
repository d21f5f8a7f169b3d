import subprocess
import sys

import pytest

import scenekin


def test_everything_that_is_promised_can_be_imported() -> None:
    assert sorted(scenekin.__all__) == scenekin.__all__
    assert {getattr(scenekin, name).__name__ for name in scenekin.__all__} == set(scenekin.__all__)


def test_the_promised_functions_are_there() -> None:
    assert {"Searcher", "ndcg", "pcc", "nearest_neighbours", "rmac", "triplet_loss"} <= set(scenekin.__all__)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'agreement_of_nobody'"):
        scenekin.agreement_of_nobody  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import scenekin, sys; print(sorted({'torch', 'mlflow', 'prefect', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_measuring_needs_no_network() -> None:
    script = "from scenekin import ndcg; import sys; print(sorted({'torch', 'mlflow', 'prefect'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
