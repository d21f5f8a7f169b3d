"""`scenekin explain`."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scenekin.console import say
from scenekin.options import AsJson, Workspace
from scenekin.outputs import check_output, output_file
from tasks.errors import InputError

if TYPE_CHECKING:
    from scenekin.searcher import Result, Searcher
    from tasks.search.explanation import Explanation


def explain(
    a: Annotated[str, typer.Argument(metavar="A", help="An image file, or the id of an indexed image.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.png", help="The picture of both under their maps.")],
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Show why two images match: what they share, and where in each it is."""
    check_output(out, SUFFIX)
    from scenekin.searcher import Searcher

    searcher = Searcher.open(workspace, name)
    explanation = searcher.explain(a, b)
    answer = draw_explanation(explanation, searcher.read(a), searcher.read(b), out)
    lines = [f"score {explanation.score:z.3f}, drawn in {out}", "the dimensions that contribute most:"]
    lines += [f"  {part.index:>5}  {part.contribution:+z.3f}" for part in explanation.dimensions]
    shown = {a: explanation.evidence_a, b: explanation.evidence_b}
    lines += [f"no evidence in {image}" for image, evident in shown.items() if not evident]
    say(answer, json, "\n".join(lines))


SUFFIX = ".png"
NAME = 50  # characters of an id that a file's name takes, which may have 255 bytes


def draw_explanation(explanation: "Explanation", data_a: bytes, data_b: bytes, file: Path) -> dict[str, Any]:
    """Write both pictures under their maps, whole or not at all → what JSON says of it. Raises InputError."""
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
    """A picture in the folder for each result, named by rank and id; results whose file cannot be used are `refused`.

    Raises InputError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be a folder of pictures: {error.strerror}.") from error
    explanations, refused = [], []
    for result in results:
        try:
            image = searcher.image_of(result.image_id)
            explanation = searcher.explain(query, image)
        except InputError as error:
            refused.append({"item": result.image_id, "reason": str(error)})
            continue
        name = re.sub(r"[^\w.-]+", "_", result.image_id)[-NAME:]
        told = draw_explanation(explanation, query, image, folder / f"{result.rank:03}-{name}{SUFFIX}")
        explanations.append({"rank": result.rank, "image_id": result.image_id, **told})
    return {"explanations": explanations, "refused": refused}
