"""`scenekin explain`."""

from pathlib import Path
from typing import Annotated

import typer

from scenekin.commands.explanations import SUFFIX, draw_explanation
from scenekin.commands.options import AsJson, Workspace
from scenekin.commands.running import say
from scenekin.outputs import check_output


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
