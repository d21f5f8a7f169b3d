import pytest

from tasks.model.licences import describe_licence


@pytest.mark.parametrize(
    "licence", ["cc-by-nc-4.0", "fair-noncommercial-research-license", "Non-Commercial", "apple-amlr"]
)
def test_a_licence_that_forbids_commercial_use_is_named(licence: str) -> None:
    assert describe_licence(licence) == f"licence of its weights: {licence}, which forbids commercial use"


@pytest.mark.parametrize("licence", ["apache-2.0", "mit", "bsd-3-clause", "cc-by-4.0", "dinov3-license"])
def test_other_licences_are_named_alone(licence: str) -> None:
    assert describe_licence(licence) == f"licence of its weights: {licence}"


def test_an_unknown_licence_is_called_so() -> None:
    assert describe_licence("") == "licence of its weights: unknown"
