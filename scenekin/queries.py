"""The images that are searched for in bulk: a folder's, or those that a list names."""

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

Refused = dict[str, str]  # an item, and the reason


@dataclass(frozen=True)
class Queries:
    """Names as they are listed, how to read one's bytes, and the rows of the list that name nothing.

    Relative names are seen from the folder, or from the one that holds the list.
    """

    names: tuple[str, ...]
    read: Callable[[str], bytes]
    refused: tuple[Refused, ...] = ()


def list_queries(source: Path, column: str | None = None) -> Queries:
    """The images below a folder, or those that a text file or table names, one a line or row.

    Raises InputError where there is none or where no column tells, StorageError where it cannot be read.
    """
    tree = list_tree(str(source))
    files = Files(tree.paths, tree.open)
    if tree.is_file and not is_image(tree.paths[0]):
        names, refused = _names_in(files, tree.paths[0], column)
    else:
        names = [path for path in tree.paths if is_image(path)]
        refused = [{"item": path, "reason": reason} for _, path, reason in tree.skipped if is_image(path)]
    if not names:
        raise InputError(f"{source} names no images; give a folder of images, or a list with a path a line.")
    return Queries(tuple(names), partial(_read, Path(tree.root)), tuple(refused))


def _names_in(files: Files, source: str, column: str | None) -> tuple[list[str], list[Refused]]:
    """Lines of plain text, be it called .csv, or the values of a table's one column or of that of image names."""
    extension = Path(source).suffix.lower()
    if extension != ".parquet":
        lines = [line.strip() for _, line in numbered_lines(decode_text(files.read(source), source, []))]
        if extension not in TEXT_TABLES or (lines and is_image(lines[0])):
            return lines, []
    problems: list[Problem] = []
    table = open_table(files, source, problems)
    chosen = table.columns[0] if column is None and len(table.columns) == 1 else image_column(table, source, column)
    values = [(line, str(row.get(chosen) or "")) for line, row in table.rows([chosen])]
    bad = [(problem.line, problem.detail) for problem in problems if problem.kind == "bad-row"]
    bad += [(line, f"nothing in the column {chosen}") for line, name in values if not name]
    return [name for _, name in values if name], [_refusal(source, line, why) for line, why in bad]


def _refusal(source: str, line: int | None, reason: str) -> Refused:
    return {"item": f"{source}:{line}", "reason": printable(reason)}


def _read(root: Path, name: str) -> bytes:
    if not is_unicode(name):
        raise InputError("its name is not Unicode; rename the file")
    try:
        return (root / name).read_bytes()
    except (OSError, ValueError) as error:  # a name may hold a zero byte
        raise InputError(getattr(error, "strerror", None) or str(error)) from error
