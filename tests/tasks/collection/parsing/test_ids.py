import pytest

from tasks.collection.parsing.ids import id_key, read_id


@pytest.mark.parametrize(
    ("value", "image_id"),
    [
        (3, "3"),
        (3.0, "3"),
        ("003", "003"),
        (2**60 + 1, str(2**60 + 1)),
        (1.5, None),
        (float("inf"), None),
        (True, None),
        (None, None),
    ],
)
def test_ids_are_text_or_whole_numbers(value: object, image_id: str | None) -> None:
    assert read_id(value) == image_id


def test_equal_ids_share_a_key() -> None:
    assert id_key("003") == id_key("3") != id_key("30")
    assert id_key("000") == id_key("0")
    assert id_key("0a") == "0a"
    assert len(id_key("9" * 10_000)) == 10_000
