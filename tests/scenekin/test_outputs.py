from pathlib import Path

import pytest

from scenekin.outputs import check_output, output_file
from tasks.errors import InputError


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("found.csv", "the name must end in .parquet or .png."),
        (".", "the name must end in .parquet or .png"),
        ("folder.png", "Is a directory."),
        ("none/found.png", "No such file or directory."),
        ("file/found.png", "Not a directory."),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(out: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as raised:
        check_output(tmp_path / out, ".parquet", ".png")
    assert str(raised.value).startswith(f"Cannot write {tmp_path / out}: {words}")
    assert {path.name for path in tmp_path.iterdir()} == {"folder.png", "file"}


def test_a_read_only_folder_is_said_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda folder, _: folder != tmp_path)
    with pytest.raises(InputError, match=r"^Cannot write .*found\.png: the folder is read-only\.$"):
        check_output(tmp_path / "found.png", ".png")


def test_other_cases_of_an_ending_and_files_that_are_there_will_do(tmp_path: Path) -> None:
    (tmp_path / "found.PNG").touch()
    check_output(tmp_path / "found.PNG", ".png")


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "found.csv"

    def break_off() -> None:
        with output_file(out) as file:
            file.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        break_off()
    assert list(tmp_path.iterdir()) == []
    with output_file(out) as file:
        file.write_text("whole")
        assert (file.parent, out.exists()) == (tmp_path, False)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["whole"]


def test_a_folder_that_is_gone_meanwhile_is_said(tmp_path: Path) -> None:
    out = tmp_path / "none" / "found.csv"
    with (
        pytest.raises(InputError, match=r"Cannot write .*found\.csv: No such file or directory"),
        output_file(out) as file,
    ):
        file.write_text("whole")
