"""The commands of README and of the first pages run as they are printed, in a home of their own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
PEOPLE = "age,ill,smokes\n" + "".join(
    f"{20 + (7 * row) % 60},{'yes' if row % 3 else 'no'},{'no' if row % 2 else 'yes'}\n" for row in range(600)
)


def commands(document: str, heading: str = "") -> list[str]:
    """Lines of the shell blocks that call the workbench, of the section under `heading` (all without one), without their remarks."""
    text = (ROOT / document).read_text()
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0] if heading else text.partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    return [line.split("   #")[0].strip() for block in blocks for line in block.splitlines() if line.startswith("workbench ")]


@pytest.mark.slow(depends=["workbench/**", "README.md", "docs/start/*.md"])
@pytest.mark.parametrize(
    ("document", "heading"),
    [
        ("README.md", "The main job in six commands"),
        ("README.md", "Your own data"),
        ("docs/start/first-run.md", ""),
        ("docs/start/own-images.md", ""),
        ("docs/start/own-table.md", ""),
    ],
)
def test_printed_commands_run(document: str, heading: str, tmp_path: Path, figures: dict[str, Any]) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    for name in ("cats", "dogs"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(150):
            pixels = np.random.default_rng(number).integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{number}.png")
    environment = {**os.environ, "WORKBENCH_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    run, asked = "", commands(document, heading)
    assert asked
    for line in asked:
        words = line.replace("ID", run) if run else line
        words = re.sub(r"^workbench", f"{shlex.quote(sys.executable)} -m workbench.cli", words)
        done = subprocess.run(words, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        if line.startswith("workbench train"):
            run = json.loads(done.stdout.splitlines()[-1])["run"]
    figures["commands"] = len(asked)
