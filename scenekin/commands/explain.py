"""`scenekin explain`, and the pictures of `scenekin search --explain`."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scenekin.console import print_result, short
from scenekin.options import AsJson, IndexName, Workspace
from scenekin.outputs import check_output, output_file
from tasks.errors import InputError

if TYPE_CHECKING:
    from scenekin.searcher import Result, Searcher
    from tasks.search.explanation import Explanation

SUFFIX = ".png"
NAME_LENGTH = 50  # characters of an image id in a file name, which may have 255 bytes


def explain(
    a: Annotated[str, typer.Argument(metavar="A", help="First image: file or id.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Second image: file or id.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE.png", help="PNG file for both images with their heat maps.")
    ],
    name: IndexName = "main",
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Show why two images match, with a heat map over each."""
    check_output(out, SUFFIX)
    from scenekin.searcher import Searcher

    searcher = Searcher.open(workspace, name)
    data_a, data_b = searcher.read(a), searcher.read(b)
    explanation = searcher.explain(a, b)
    answer = draw_explanation(explanation, data_a, data_b, out)
    lines = [f"Similarity {explanation.score:z.3f}; picture written to {short(out.absolute())}"]
    evident = {a: explanation.evidence_a, b: explanation.evidence_b}
    lines += [f"No evidence found in {image}" for image, found in evident.items() if not found]
    print_result(answer, json, "\n".join(lines))


def draw_explanation(explanation: "Explanation", data_a: bytes, data_b: bytes, file: Path) -> dict[str, Any]:
    """Write both images with their heat maps to a file, and return the JSON of the explanation. Raises InputError."""
    from tasks.images.decode import decode_reduced
    from tasks.search.heat import LARGEST, side_by_side

    image_a, image_b = (decode_reduced(data, LARGEST).image for data in (data_a, data_b))
    with output_file(file) as temporary:
        side_by_side(image_a, image_b, explanation).save(temporary, "PNG")
    return {
        "score": explanation.score,
        "dimensions": [asdict(dimension) for dimension in explanation.dimensions],
        "evidence": explanation.evidence,
        "evidence_a": explanation.evidence_a,
        "evidence_b": explanation.evidence_b,
        "picture": str(file),
    }


def explain_results(
    searcher: "Searcher", query: bytes, results: Sequence["Result"], folder: Path
) -> dict[str, list[dict[str, Any]]]:
    """Write a picture per result, named by rank and id. Results whose file is unusable are listed as `refused`.

    Raises InputError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {folder}: {error.strerror}.") from error
    explanations, refused = [], []
    for result in results:
        try:
            image = searcher.read_indexed(result.image_id)
            explanation = searcher.explain(query, image)
        except InputError as error:
            refused.append({"item": result.image_id, "reason": str(error)})
            continue
        name = re.sub(r"[^\w.-]+", "_", result.image_id)[-NAME_LENGTH:]
        drawn = draw_explanation(explanation, query, image, folder / f"{result.rank:03}-{name}{SUFFIX}")
        explanations.append({"rank": result.rank, "image_id": result.image_id, **drawn})
    return {"explanations": explanations, "refused": refused}
