import os
import socket
from pathlib import Path

import pytest

from storage.source import local_files
from storage.source.local_files import walk
from storage.workspace import open_workspace

AWKWARD = [
    "a b.jpg",
    "a#b.jpg",
    "50%20off.jpg",
    "q?x.jpg",
    "[a]*.jpg",
    "a::b.jpg",
    "s3:x.jpg",
    "🐶.jpg",
    "new\nline.jpg",
]


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def told(root: Path) -> dict[str, str]:
    """Kinds of what is passed over, by path."""
    return {skipped.path: skipped.kind for skipped in walk(root)[1]}


def test_files_are_listed_in_order_and_hidden_ones_are_not(tmp_path: Path) -> None:
    make(tmp_path, "b.jpg", "a/2.jpg", "a/10.jpg", ".hidden.jpg", ".git/1.jpg", "a/.cache/1.jpg", "c.jpg/1.jpg")
    assert walk(tmp_path) == (["a/10.jpg", "a/2.jpg", "b.jpg", "c.jpg/1.jpg"], [])


def test_any_name_is_listed_as_it_is(tmp_path: Path) -> None:
    names = [*AWKWARD, os.fsdecode(b"\xff.jpg")]
    root = tmp_path / "a#b %20[x]?*\n"
    make(root, *names)
    assert walk(root) == (sorted(names), [])


def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "elsewhere/deep/1.jpg", "root/0.jpg")
    (tmp_path / "root" / "more").symlink_to("../elsewhere")
    assert walk(tmp_path / "root", follow_links=True) == (["0.jpg", "more/deep/1.jpg"], [])


def test_a_folder_is_listed_where_it_really_is_however_many_links_lead_to_it(tmp_path: Path) -> None:
    make(tmp_path, "z/real/0.jpg")
    (tmp_path / "a").symlink_to("z/real")
    (tmp_path / "z" / "again").symlink_to("real")
    files, skipped = walk(tmp_path)
    assert files == ["z/real/0.jpg"]
    assert [(each.kind, each.path) for each in skipped] == [("repeated-folder", "a/"), ("repeated-folder", "z/again/")]
    assert skipped[0].reason == "the same folder as z/real/; its files are listed once"


def test_of_two_links_to_one_folder_outside_the_first_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "elsewhere/1.jpg")
    (tmp_path / "root").mkdir()
    for name in ("b", "a"):
        (tmp_path / "root" / name).symlink_to("../elsewhere")
    files, skipped = walk(tmp_path / "root", follow_links=True)
    assert files == ["a/1.jpg"]
    assert [(each.kind, each.path) for each in skipped] == [("repeated-folder", "b/")]


def test_circles_end_and_are_told(tmp_path: Path) -> None:
    make(tmp_path, "outside.jpg", "root/real/0.jpg", "beside/1.jpg")
    (tmp_path / "root" / "real" / "loop").symlink_to("..")
    (tmp_path / "root" / "above").symlink_to("../..")
    (tmp_path / "root" / "beside").symlink_to("../beside")
    (tmp_path / "beside" / "back").symlink_to("../root")
    files, skipped = walk(tmp_path / "root", follow_links=True)
    assert files == ["beside/1.jpg", "real/0.jpg"]
    reasons = {each.path: each.reason for each in skipped}
    assert reasons == {
        "above/": "a folder that contains the collection; the link is not followed",
        "beside/back/": "the same folder as ./; its files are listed once",
        "real/loop/": "the same folder as ./; its files are listed once",
    }


def test_links_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    make(tmp_path, "0.jpg")
    for name, target in {"dangling.jpg": "nowhere.jpg", "self": "self", "other": "0.jpg"}.items():
        (tmp_path / name).symlink_to(target)
    files, skipped = walk(tmp_path)
    assert files == ["0.jpg", "other"]
    assert {each.path: each.kind for each in skipped} == {"dangling.jpg": "dead-link", "self": "dead-link"}
    assert skipped[0].reason == "a broken link (No such file or directory); it is ignored"
    assert "Too many levels of symbolic links" in skipped[1].reason


def test_pipes_and_sockets_are_told_and_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "link.jpg").symlink_to("pipe.jpg")
    (tmp_path / "device.jpg").symlink_to("/dev/null")
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.jpg")
        names = ["device.jpg", "link.jpg", "pipe.jpg", "socket.jpg"]
        assert told(tmp_path) == dict.fromkeys(names, "special-file")
    assert walk(tmp_path)[0] == []


def test_a_folder_that_may_not_be_read_is_told_and_the_rest_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "0.jpg", "closed/1.jpg")
    real = os.scandir

    def scandir(folder: Path) -> object:
        if folder == tmp_path / "closed":
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(local_files.os, "scandir", scandir)
    files, skipped = walk(tmp_path)
    assert files == ["0.jpg"]
    assert skipped == [("unreadable-folder", "closed/", "Permission denied; its files are not listed")]


def test_workspaces_are_no_part_of_a_collection(tmp_path: Path) -> None:
    open_workspace(tmp_path / "results")
    make(tmp_path, "0.jpg", "results/1.jpg", "results/demo/2.jpg", "results-too.jpg")
    assert walk(tmp_path) == (["0.jpg", "results-too.jpg"], [])
    assert walk(tmp_path / "results" / "demo") == (["2.jpg"], [])
    assert "1.jpg" in walk(tmp_path / "results")[0]


def test_links_that_lead_out_are_skipped_unless_they_are_to_be_followed(tmp_path: Path) -> None:
    make(tmp_path, "root/0.jpg", "root/below/1.jpg", "rooted/secret.jpg", "elsewhere/2.jpg")
    targets = {"inside.jpg": "below/1.jpg", "out.jpg": "../rooted/secret.jpg", "out": "../elsewhere", "dead": "../none"}
    for name, target in targets.items():
        (tmp_path / "root" / name).symlink_to(target)
    (tmp_path / "linked root").symlink_to("root")
    for root in (tmp_path / "root", tmp_path / "linked root"):
        assert walk(root)[0] == ["0.jpg", "below/1.jpg", "inside.jpg"]
        kinds = {"dead": "dead-link", "out": "outside-link", "out.jpg": "outside-link"}
        assert told(root) == kinds
        followed = ["0.jpg", "below/1.jpg", "inside.jpg", "out.jpg", "out/2.jpg"]
        assert walk(root, follow_links=True)[0] == followed
    assert "--follow-links" in walk(tmp_path / "root")[1][1].reason
