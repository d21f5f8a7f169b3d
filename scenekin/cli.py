"""The `scenekin` command. Commands import what they need themselves: search loads neither Prefect nor MLflow."""

import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, ParamSpec, TypeVar

import typer

from scenekin.interrupt import end_soon_on_interrupt
from storage.errors import StorageError
from tasks.errors import InputError
from tasks.metrics.wording import figure_text

if TYPE_CHECKING:
    from flows.results import EvaluateResult, IndexResult, TrainResult
    from tasks.evaluation.summary import Gain

P = ParamSpec("P")
T = TypeVar("T")

app = typer.Typer(
    name="scenekin",
    help="Find the images whose scene means the same, in collections where nobody has written text.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

# typer reads these at run time, where it wants Optional.
Workspace = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--workspace", metavar="DIR", help="Where all is written; else SCENEKIN_HOME, else .scenekin here."),
]
Collection = Annotated[str, typer.Argument(metavar="COLLECTION", help="A folder, file or URL of images with captions.")]
Images = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--images", metavar="DIR", help="Where the images are, if elsewhere."),
]
Format = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--format", help="The collection's format, if looking at it does not tell."),
]
ImageColumn = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--image-column", help="The column of a table that names the images, if its name does not tell."),
]
CaptionColumn = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--caption-column", help="The column of a table that holds the captions."),
]
ConfigFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--config", metavar="F.yaml", help="Settings; `scenekin config` prints all with their defaults."),
]
Assignments = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--set", metavar="KEY=VALUE", help="One setting, as triplets.margin=0.1; may be repeated."),
]
Model = Annotated[str, typer.Option("--model", help="An alias or a version number of the registered model.")]
Rehash = Annotated[bool, typer.Option("--rehash", help="Read all files again and forget what is known of them.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else.")]


def main() -> None:
    """The entry point."""
    end_soon_on_interrupt()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names need not fit the terminal's encoding
    app()


@app.callback()
def _before(workspace: Workspace = None) -> None:
    if workspace is not None:
        os.environ["SCENEKIN_HOME"] = str(workspace)


def sentence_on_error(command: Callable[P, T]) -> Callable[P, T]:
    """Bad input and full or forbidden disks end a command with one sentence and exit code 1, not with a traceback."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except (InputError, StorageError, FloatingPointError) as error:
            message = str(error)
        except BrokenPipeError:
            raise  # whoever read the output has seen enough: typer ends quietly
        except OSError as error:
            message = f"{error.filename or 'A file'}: {error.strerror or error}."
        except KeyboardInterrupt:
            message = "Stopped."
        print(f"scenekin: {message}", file=sys.stderr)
        raise typer.Exit(1)

    return wrapped


@app.command()
@sentence_on_error
def check(
    collection: Collection,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    workspace: Workspace = None,  # noqa: ARG001  taken by every command; this one writes nothing
    json: AsJson = False,
) -> None:
    """Say what a collection holds and what is wrong with it; writes nothing."""
    from storage.files import Source
    from tasks.collection.check import describe, summary
    from tasks.collection.config import CollectionConfig
    from tasks.collection.gather import gather
    from tasks.collection.records import Files
    from tasks.progress import progress

    files, pictures = (Files(tree.paths, tree.open, tree.skipped) for tree in Source(collection, images).trees())
    settings = _settings(config, set).collection if config or set else CollectionConfig()  # spares importing Prefect
    settings = settings.model_copy(update=_columns(image_column, caption_column))
    found = gather(files, pictures, format, settings, workers=os.cpu_count() or 1, progress=progress)
    _say(summary(found), json, describe(found))


@app.command()
@sentence_on_error
def train(
    collection: Collection,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    rehash: Rehash = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Learn from a captioned collection; register the better of the candidates."""
    settings = _settings(config, set).with_columns(_columns(image_column, caption_column))
    from flows.train import train_flow

    result = _run(train_flow, collection, settings, _path(workspace), images, format, rehash)
    _say(result.model_dump(mode="json"), json, _train_text(result))


@app.command()
@sentence_on_error
def index(
    collection: Collection,
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    model: Model = "champion",
    allow_shrink: Annotated[bool, typer.Option("--allow-shrink", help="More than a fifth may vanish.")] = False,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    rehash: Rehash = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Make or refresh the index of a collection, with captions or without."""
    settings = _settings(config, set).with_columns(_columns(image_column, caption_column))
    from flows.index import index_flow

    result = _run(index_flow, collection, name, model, settings, _path(workspace), images, format, allow_shrink, rehash)
    _say(result.model_dump(mode="json"), json, _index_text(result))


@app.command()
@sentence_on_error
def evaluate(
    collection: Collection,
    split: Annotated[str, typer.Option("--split", help="train, validation or test.")] = "test",
    model: Model = "champion",
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    table: Annotated[bool, typer.Option("--table", help="All methods with intervals, as the paper's Table 2.")] = False,
    rehash: Rehash = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Measure a model, the candidates beside it and the untrained baselines on a split."""
    if split not in ("train", "validation", "test"):
        raise typer.BadParameter("choose train, validation or test", param_hint="--split")
    runtime = _settings(config, set).runtime  # all other settings are those that the model was trained with
    columns = _columns(image_column, caption_column)
    from flows.evaluate import evaluate_flow

    result = _run(evaluate_flow, collection, split, model, _path(workspace), images, format, runtime, columns, rehash)
    _say(result.model_dump(mode="json"), json, _table_text(result) if table else _evaluate_text(result))


@app.command()
@sentence_on_error
def search(
    query: Annotated[Optional[Path], typer.Argument(metavar="QUERY", help="An image file.")] = None,  # noqa: UP045
    id: Annotated[Optional[str], typer.Option("--id", help="Instead, the id of an indexed image.")] = None,  # noqa: UP045
    text: Annotated[Optional[str], typer.Option("--text", help="Instead, words alone.")] = None,  # noqa: UP045
    add: Annotated[Optional[list[str]], typer.Option("--add", help="Words to move towards; may be repeated.")] = None,  # noqa: UP045
    remove: Annotated[Optional[list[str]], typer.Option("--remove", help="Words to move away from.")] = None,  # noqa: UP045
    alpha: Annotated[Optional[float], typer.Option("--alpha", min=0, help="How far towards.")] = None,  # noqa: UP045
    beta: Annotated[Optional[float], typer.Option("--beta", min=0, help="How far away.")] = None,  # noqa: UP045
    top: Annotated[int, typer.Option("--top", min=1, help="How many results.")] = 10,
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Find the indexed images whose scene is nearest to a query's, moved by words where the model knows any."""
    from dataclasses import asdict

    from scenekin.searcher import Searcher

    searcher = Searcher.open(workspace, name)
    weights = {name: weight for name, weight in (("alpha", alpha), ("beta", beta)) if weight is not None}
    asked = searcher.query(query, image_id=id, text=text, add=add or (), remove=remove or (), **weights)
    results = searcher.nearest(asked, top)
    answer = {
        "model": {"name": searcher.manifest.model.name, "version": searcher.manifest.model.version},
        "index": {"version": searcher.manifest.version, "images": searcher.manifest.images},
        "query": {
            "image": str(query) if query is not None else id,
            "text": text,
            "added": list(asked.added),
            "removed": list(asked.removed),
            "unknown_terms": list(asked.unknown_terms),
        },
        "results": [asdict(result) for result in results],
    }
    lines = [f"{result.rank:>4}  {result.score:.3f}  {result.image_id}" for result in results]
    for word in asked.unknown_terms:
        near = ", ".join(searcher.text.near(word)) or "nothing"
        print(f"No caption had {word!r}; it is passed over. Spelled like it: {near}.", file=sys.stderr)
    _say(answer, json, "\n".join(lines) or "The index is empty.")


@app.command()
@sentence_on_error
def demo(workspace: Workspace = None) -> None:
    """Do the main job on a collection that is drawn for it: train, index, evaluate."""
    _quiet()
    from flows.config import Config
    from flows.evaluate import evaluate_flow
    from flows.index import index_flow
    from flows.train import train_flow
    from storage.workspace import open_workspace
    from tasks.collection.task import demo_collection
    from tasks.training.config import TripletConfig

    space = open_workspace(workspace)
    collection = str(demo_collection(space))
    settings = Config(triplets=TripletConfig(refreshes=12))  # as good here, and a minute shorter
    print(_train_text(_run(train_flow, collection, settings, str(space.root))))
    print(_index_text(_run(index_flow, collection, "demo", "champion", settings, str(space.root))))
    evaluated = _run(evaluate_flow, collection, "test", "champion", str(space.root))
    print(_evaluate_text(evaluated))
    query = sorted(Path(collection, "test").glob("*.jpg"))[0]
    usual = space.root == Path(".scenekin").absolute()
    command = [
        "scenekin" if shutil.which("scenekin") else _short(Path(sys.executable).with_name("scenekin")),
        "search",
        _short(query),
        "--name",
        "demo",
        *([] if usual else ["--workspace", _short(space.root)]),
    ]
    print(f"\nNext, search for scenes like a picture:\n  {shlex.join(command)}")


@app.command()
@sentence_on_error
def config(workspace: Workspace = None) -> None:  # noqa: ARG001  taken by every command
    """Print every setting with its default, as YAML for --config."""
    import yaml

    from flows.config import Config

    print(yaml.safe_dump(Config().model_dump(mode="json"), sort_keys=False), end="")


def _quiet() -> None:
    """Settings of the libraries that people may override, before these are imported."""
    defaults = {
        "PREFECT_LOGGING_LEVEL": "CRITICAL",  # a failure is said once, in a sentence
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLIENT_MAX_RETRIES": "2",  # a server that is gone does not come back
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def _settings(file: Path | None, assignments: list[str] | None) -> Any:
    _quiet()
    from scenekin.settings import read_config

    return read_config(file, assignments or [])


def _run(flow: Callable[..., T], *args: Any) -> T:
    """Run a flow here, against the configured server or an ephemeral one. Raises InputError where it is gone."""
    from httpx import TransportError
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    try:
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):  # joining its thread takes a second
            return flow(*args)
    except (RuntimeError, TransportError) as error:
        if not isinstance(error.__cause__ or error, TransportError):
            raise
        server = PREFECT_API_URL.value() or "of this run"
        raise InputError(f"The Prefect server {server} does not answer; start it, or unset PREFECT_API_URL.") from error


def _columns(image_column: str | None, caption_column: str | None) -> dict[str, str]:
    named = {"image_column": image_column, "caption_column": caption_column}
    return {name: column for name, column in named.items() if column is not None}


def _path(workspace: Path | None) -> str | None:
    return None if workspace is None else str(workspace)


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _say(answer: dict[str, Any], as_json: bool, text: str) -> None:
    print(json.dumps(answer) if as_json else text)


def _train_text(result: "TrainResult") -> str:
    lines = [f"scenekin version {result.model.version} ({', '.join(result.model.aliases)}): {result.reason}"]
    for candidate in sorted(result.candidates, key=lambda each: -(each.metrics.get("ndcg_auc") or 0)):
        figure, interval = figure_text(candidate.metrics.get("ndcg_auc")), _interval(candidate.ndcg_auc_interval)
        behind = _behind(candidate.to_best) if candidate.to_best else ""
        lines.append(f"  {candidate.label:14}  validation NDCG AUC {figure} {interval}{behind}")
    cached = sum(stage.cached for stage in result.stages)
    lines.append(f"  stages: {len(result.stages)}, cached: {cached}")
    lines += _problems_text(result.problem_counts)
    return "\n".join([*lines, f"Report: {_short(Path(result.report))}"])


def _interval(interval: Sequence[float] | None) -> str:
    """In brackets, nothing where undefined."""
    return "({}–{})".format(*map(figure_text, interval)) if interval is not None else ""


def _behind(to_best: "Gain") -> str:
    """How much more the best has."""
    low, high = to_best.ndcg_auc_interval or (0.0, 0.0)
    return f", {figure_text(-(to_best.ndcg_auc or 0.0))} {_interval((-high, -low))} behind"


def _index_text(result: "IndexResult") -> str:
    facts = result.index
    lines = [
        f"index {facts['name']} version {facts['version']}: {facts['images']} images ({facts['added']} added, "
        f"{facts['changed']} changed, {facts['removed']} removed), {len(result.refused)} refused, {result.seconds} s"
    ]
    lines += [f"  refused {refusal['item']}: {refusal['reason']}" for refusal in result.refused]
    return "\n".join([*lines, *_problems_text(result.problem_counts)])


def _problems_text(counts: dict[str, int]) -> list[str]:
    told = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return [f"  of the collection: {told}; `scenekin check` names them"] if told else []


def _evaluate_text(result: "EvaluateResult") -> str:
    lines = [
        f"{result.split}: {result.queries} queries, {result.left_out} left out",
        f"  {'method':32} NDCG AUC  PCC AUC",
    ]
    for summary in result.methods.values():
        figures = (figure_text(summary[auc]) for auc in ("ndcg_auc", "pcc_auc"))
        lines.append("  {:32} {:>8} {:>8}".format(summary["label"], *figures))
    for name, words in result.words.items():
        without, at_90, at_80 = (f"{100 * words[at]:.0f} %" for at in ("without", "at_90", "at_80"))
        lines.append(
            f"  {result.methods[name]['label']}: {without} of the top 10 hold a word; once it is added {at_90}, "
            f"where 90 % of the similarity is kept, and {at_80} at 80 %"
        )
    return "\n".join([*lines, f"Report: {_short(Path(result.report))}"])


def _table_text(result: "EvaluateResult") -> str:
    from tasks.evaluation.methods import in_paper_order

    lines = [f"{'method':32} {'NDCG AUC':21} PCC AUC"]
    for name in in_paper_order(result.methods):
        summary = result.methods[name]
        ndcg, pcc = (
            f"{figure_text(summary[auc]):>5} {_interval(summary[f'{auc}_interval'])}" for auc in ("ndcg_auc", "pcc_auc")
        )
        lines.append(f"{summary['label']:32} {ndcg:21} {pcc}".rstrip())
    return "\n".join([*lines, f"Report: {_short(Path(result.report))}"])
