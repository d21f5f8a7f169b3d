"""Make docs/results.jpg and docs/page.jpg from what scenekin does today.

    python docs/pictures.py [WORKSPACE]

Runs the demo in the workspace (default: a temporary one), takes the example of its evaluation report in which the model
gains most over the best untrained baseline, and photographs the web page in Chromium.
"""

import argparse
import base64
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from operator import itemgetter
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
SCENEKIN = (sys.executable, "-c", "from scenekin.cli import main; main()")
SHEET = re.compile(r'class="sheet" src="data:image/\w+;base64,([^"]+)"')
ADDED, REMOVED = "dog", "child"
VIEWPORT = {"width": 1475, "height": 950}


def save_results(workspace: Path) -> None:
    """Save the example of the newest evaluation report in which the model gains most over the baseline."""
    folder = max((workspace / "reports").glob("evaluate-*"), key=lambda path: path.stat().st_mtime)
    examples = json.loads((folder / "report.json").read_text(encoding="utf-8"))["examples"]
    sheets = SHEET.findall((folder / "report.html").read_text(encoding="utf-8"))
    _, sheet = max(zip(map(gain, examples), sheets, strict=False), key=itemgetter(0))
    Image.open(io.BytesIO(base64.b64decode(sheet))).convert("RGB").save(DOCS / "results.jpg", quality=88)


def gain(example: dict[str, Any]) -> float:
    """Return by how much the results of the model are more similar to the query than those of the baseline."""
    baseline, model = ([hit["similarity"] for hit in hits] for hits in example["hits"].values())
    return mean(model) - mean(baseline)


def example_query(collection: Path) -> str:
    """Return the id of the first test image whose captions mention the word to remove but not the one to add."""
    for line in (collection / "test" / "metadata.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = " ".join(row["captions"])
        if REMOVED in text and ADDED not in text:
            return f"test/{row['file_name']}"
    raise AssertionError(f"no test image shows a {REMOVED} without a {ADDED}")


def save_page(workspace: Path, collection: Path) -> None:
    """Save a search with an added and a removed word as page.jpg."""
    command = [*SCENEKIN, "serve", "--name", "demo", "--port", "0", "--workspace", str(workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://[^\s]+\d", line)))
        query = urlencode({"id": example_query(collection), "add": ADDED, "remove": REMOVED})
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport=VIEWPORT, color_scheme="light")
            page.goto(f"{address}/?{query}", wait_until="networkidle")
            page.screenshot(path=DOCS / "page.jpg", type="jpeg", quality=85)
            browser.close()
        server.terminate()


def main() -> None:
    """Read the argument, run the demo and make both pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", nargs="?", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        workspace = args.workspace or Path(temporary)
        subprocess.run([*SCENEKIN, "demo", "--workspace", str(workspace)], check=True)
        save_results(workspace)
        save_page(workspace, workspace / "demo")


if __name__ == "__main__":
    main()
