import pytest

from tasks.evaluation.methods import LABELS, method_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("random", "reference"),
        ("captions", "reference"),
        ("baseline_rmac_pca", "untrained"),
        ("v_v", "trained"),
        ("regression", "trained"),
    ],
)
def test_kinds(name: str, kind: str) -> None:
    assert method_kind(name) == kind


def test_labels_tell_methods_apart() -> None:
    assert len(set(LABELS.values())) == len(LABELS)
