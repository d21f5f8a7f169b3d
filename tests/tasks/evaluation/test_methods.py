import pytest

from tasks.evaluation.methods import LABELS, in_paper_order, method_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("random", "reference"),
        ("captions", "reference"),
        ("baseline_rmac_pca", "untrained"),
        ("untrained", "features"),
        ("v_v", "trained"),
        ("vt_v", "trained"),
        ("regression", "trained"),
        ("vt_vt", "captioned"),
    ],
)
def test_kinds(name: str, kind: str) -> None:
    assert method_kind(name) == kind


def test_labels_tell_methods_apart() -> None:
    assert len(set(LABELS.values())) == len(LABELS)


def test_methods_are_listed_as_in_the_papers_table() -> None:
    given = ["other", "regression", "vt_vt", "vt_v", "v_v", "wsabie", "baseline_gap", "random", "captions"]
    assert in_paper_order(given) == [
        *("captions", "random", "baseline_gap", "wsabie", "v_v", "vt_v", "vt_vt", "regression", "other")
    ]
