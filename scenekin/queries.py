"""The query images of a batch search: those of a folder, or those that a list names."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from storage.source.tree import list_tree
from tasks.collection.image_names import is_image
from tasks.collection.parsing.columns import image_column
from tasks.collection.parsing.table_files import TEXT_TABLES, open_table
from tasks.collection.parsing.text import decode_text, is_unicode, numbered_lines, printable
from tasks.collection.records import Files, Problem
from tasks.errors import InputError

RefusedQuery = dict[str, str]
"""`item` and `reason`."""


@dataclass(frozen=True)
class Queries:
    """Names as listed, a function that reads the bytes of one, and the entries of the list that are unusable.

    Relative names are relative to the folder, or to the folder of the list.
    """

    names: tuple[str, ...]
    read: Callable[[str], bytes]
    refused: tuple[RefusedQuery, ...] = ()


def list_queries(source: Path, column: str | None = None) -> Queries:
    """The images below a folder, or those named by a text file (one a line) or by a column of a table.

    Raises InputError if there are none or the column is ambiguous, StorageError if the source cannot be read.
    """
    tree = list_tree(str(source))
    files = Files(tree.paths, tree.open)
    if tree.is_file and not is_image(tree.paths[0]):
        names, refused = _names_in(files, tree.paths[0], column)
    else:
        names = [path for path in tree.paths if is_image(path)]
        refused = [{"item": path, "reason": reason} for _, path, reason in tree.skipped if is_image(path)]
    if not names:
        raise InputError(f"{source} names no images; give a folder of images, or a list with one path per line.")
    return Queries(tuple(names), partial(_read, Path(tree.root)), tuple(refused))


def _names_in(files: Files, source: str, column: str | None) -> tuple[list[str], list[RefusedQuery]]:
    """The lines of a text file, even one called .csv, or the values of a table's image column."""
    extension = Path(source).suffix.lower()
    if extension == ".json":
        raise InputError(f"{source} is a JSON file; list the paths in a text file, .csv, .tsv, .jsonl or .parquet.")
    if extension != ".parquet":
        lines = [line.strip() for _, line in numbered_lines(decode_text(files.read(source), source, []))]
        if extension not in TEXT_TABLES or (lines and is_image(lines[0])):
            return lines, []
    problems: list[Problem] = []
    table = open_table(files, source, problems)
    chosen = table.columns[0] if column is None and len(table.columns) == 1 else image_column(table, source, column)
    values = [(line, str(row.get(chosen) or "")) for line, row in table.rows([chosen])]
    bad = [(problem.line, problem.detail) for problem in problems if problem.kind == "bad-row"]
    bad += [(line, f"column {chosen} is empty") for line, name in values if not name]
    return [name for _, name in values if name], [_refusal(source, line, why) for line, why in bad]


def _refusal(source: str, line: int | None, reason: str) -> RefusedQuery:
    return {"item": f"{source}:{line}", "reason": printable(reason)}


def _read(root: Path, name: str) -> bytes:
    if not is_unicode(name):
        raise InputError("the file name is not Unicode; rename the file")
    try:
        return (root / name).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise InputError(getattr(error, "strerror", None) or str(error)) from error
