"""Print the paper's Table 2 for a captioned collection: every method, trained from several seeds.

    python benchmarks/paper_table.py COLLECTION [--config all-methods] [--seeds 0 1 2] [--split test] [--workspace DIR]

Features are computed once; each seed takes a training of every candidate and an evaluation.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from statistics import mean, stdev
from typing import Any

AUCS = ("ndcg_auc", "pcc_auc")


def scenekin(*args: str) -> dict[str, Any]:
    """Run a command and return its JSON."""
    command = [sys.executable, "-c", "from scenekin.cli import main; main()", *args, "--json"]
    result: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return result


def interval(summary: dict[str, Any], auc: str) -> str:
    """Format the 95% interval over queries of one seed."""
    bounds = summary[f"{auc}_interval"]
    return "" if bounds is None else "({:.1f}–{:.1f})".format(*bounds)


def main() -> None:
    """Train and evaluate once per seed; print a row per method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("--config", default="all-methods")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--split", default="test")
    parser.add_argument("--workspace", default=".scenekin")
    args = parser.parse_args()
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for seed in args.seeds:
        where = [args.collection, "--workspace", args.workspace]
        trained = scenekin("train", *where, "--config", args.config, "--set", f"seed={seed}")
        measured = scenekin("evaluate", *where, "--split", args.split, "--model", str(trained["model"]["version"]))
        for method, summary in measured["methods"].items():
            found[method].append(summary)
        for candidate in trained["candidates"]:
            seconds[candidate["method"]].append(candidate["seconds"])
    print(f"{'method':32} " + "  ".join(f"{auc:38}" for auc in AUCS) + "  seconds")
    for method, summaries in found.items():
        columns = []
        for auc in AUCS:
            values = [summary[auc] for summary in summaries if summary[auc] is not None]
            spread = f"{mean(values):.1f} ± {stdev(values) if len(values) > 1 else 0:.1f}" if values else "undefined"
            columns.append(f"{spread:12} {' '.join(interval(summary, auc) for summary in summaries[:1]):25}")
        took = f"{mean(seconds[method]):.0f}" if seconds[method] else ""
        print(f"{summaries[0]['label']:32} " + "  ".join(columns) + f"  {took}")


if __name__ == "__main__":
    main()
