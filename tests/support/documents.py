"""The code blocks of README, the first pages, the guides and the pages for contributors, and a way to run them as they are printed.

Blocks of one document run in order, in one folder and one home. `ID` is the run that the last `workbench train` started.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *(page for part in ("start", "guide", "contribute") for page in (ROOT / "docs" / part).rglob("*.md")))
)
# Documents whose blocks take seconds: `make test` runs them. All others run in the slow tier.
SECONDS = {"docs/contribute/own-method.md", "docs/guide/clusters.md", "docs/guide/tune.md"}
# A line that no test can run, by document: why. A line of `workbench` has to be one that the command line takes all the same.
CANNOT_RUN = {
    ("README.md", "make app"): "installs the workbench and opens a server",
    ("README.md", "make test"): "runs the tests, this one included",
    ("docs/start/install.md", "make app"): "installs the workbench and opens a server",
    ("docs/contribute/own-method.md", 'make test ARGS="-k NAME"'): "runs tests of a method that is not there",
    (
        "docs/contribute/own-method.md",
        'make test ARGS="tests/claims tests/pages/budget tests/test_flow.py tests/test_site.py"',
    ): "runs the tests, this one included",
    ("docs/contribute/add-attack.md", "workbench caught --out workbench/claims/caught.json"): "writes into a checkout",
    ("docs/guide/share-pages.md", "ssh -L 8501:127.0.0.1:8501 you@server"): "needs a server",
    ("docs/guide/share-pages.md", "workbench app --address"): "needs an open workbench",
    (
        "docs/guide/share-pages.md",
        "workbench app --users-from X-Forwarded-User --name workbench.example.org --data-holder ana@example.org",
    ): "opens a server, and needs a proxy that authenticates",
    (
        "docs/guide/gpu.md",
        "workbench train dp-promise --dataset mnist --epsilon 10 --device cuda --performance precision=bfloat16",
    ): "needs a GPU and MNIST's files",
    (
        "docs/guide/clusters.md",
        "workbench train dp-promise --dataset mnist --epsilon 10 --device cuda --on slurm --ask gpus=1 --ask minutes=720",
    ): "needs a Slurm cluster with GPUs and MNIST's files",
}
# What a reader of a page that begins with a finished run has done before.
BEFORE = {
    "docs/guide/evaluate.md": [
        "workbench train class-means --dataset digits --epsilon 1 --wait",
        "workbench sample ID --num 60",
        "workbench train class-moments --dataset digits --epsilon 1 --wait",
    ],
    "docs/guide/release.md": ["workbench train class-moments --dataset digits --epsilon 1 --wait"],
}
# What a test writes in the place of a text of a document, and why.
SHORTER = {
    ("docs/guide/gpu.md", "epsilon=10)"): (
        'epsilon=10, settings={"pretraining.steps": 20, "training.steps": 6})',
        "made for several GPUs: on a CPU the default takes a quarter of an hour",
    ),
}
# Of a block that is no shell: the file that it is, and a command that takes the file.
LANGUAGES = {
    "json": ("people.declared.json", "workbench declare people.csv --check people.declared.json"),
    "python": ("script.py", "torchrun --nproc-per-node 2 script.py"),
}


@dataclass(frozen=True)
class Block:
    """A code block of a document."""

    document: str
    language: str
    text: str

    def lines(self) -> list[str]:
        """Its commands, without remarks; a block that is no shell is the one command that takes its file."""
        if self.language != "sh":
            return [LANGUAGES[self.language][1]]
        whole = self.text.replace("\\\n", " ")
        return [line for line in (re.sub(r"(^|\s)\s*#.*", "", printed).strip() for printed in whole.splitlines()) if line]


def blocks(document: str) -> list[Block]:
    """All code blocks of a document, in order."""
    matches = re.findall(r"^ *```(.*?)\n(.*?)^ *```", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    return [Block(document, language.strip(), text) for language, text in matches]


def runnable(document: str) -> bool:
    """Whether any line of a document can run here."""
    return any((document, line) not in CANNOT_RUN for block in blocks(document) for line in block.lines())


QUICK = [name for name in DOCUMENTS if runnable(name) and name in SECONDS]
LONG = [name for name in DOCUMENTS if runnable(name) and name not in SECONDS]


@dataclass
class Reader:
    """Somebody who does what a document prints, in a folder that is theirs."""

    folder: Path
    environment: dict[str, str]
    runs: list[str] = field(default_factory=list)
    commands: int = 0

    def do(self, line: str) -> None:
        """Run one line as a shell does, with the variables that lines before it have exported."""
        kept = self.folder / ".environment"
        script = f'{self.filled_in(line)}\nstatus=$?\nenv -0 > {shlex.quote(str(kept))}\nexit "$status"'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        self.environment = dict(entry.split("=", 1) for entry in kept.read_text().split("\0") if entry)
        self.commands += 1
        if line.startswith("workbench train"):
            self.runs.append(json.loads(done.stdout.splitlines()[-1])["run"])

    def filled_in(self, line: str) -> str:
        """A line with the last run for `ID`, and the last two for `RUN RUN`."""
        if re.search(r"\b(ID|RUN)\b", line):
            assert self.runs, f"Expected a run before {line!r}."
            line = re.sub(r"\bRUN RUN\b", " ".join(self.runs[-2:]), line)
        return re.sub(r"\bID\b", self.runs[-1], line) if self.runs else line

    def read(self, document: str) -> None:
        """Do what comes before a document, and everything that it prints."""
        for line in BEFORE.get(document, []):
            self.do(line)
        for block in blocks(document):
            if block.language != "sh":
                file = self.folder / LANGUAGES[block.language][0]
                before = (
                    file.read_text() if block.language == "python" and file.exists() else ""
                )  # a later block goes on from an earlier one
                file.write_text(before + shorter(document, block.text))
            for line in block.lines():
                if (document, line) not in CANNOT_RUN:
                    self.do(shorter(document, line))


def shorter(document: str, text: str) -> str:
    """A block or a line, with what takes its place where it is too long for any test."""
    for (where, printed), (instead, _why) in SHORTER.items():
        text = text.replace(printed, instead) if where == document else text
    return text


def reader(folder: Path, environment: Mapping[str, str]) -> Reader:
    """A reader with the workbench of this checkout on the path, and the files that documents name."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, module in (("workbench", "workbench.cli"), ("torchrun", "torch.distributed.run")):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n')
        (programs / name).chmod(0o755)
    (programs / "activate").write_text(f'PATH={shlex.quote(str(programs))}:"$PATH"\n')
    (folder / "docs").mkdir()
    (folder / "people.csv").write_text(people())
    (folder / "visits.csv").write_text(visits())
    (folder / "results.json").write_bytes((ROOT / "docs/results/digits.json").read_bytes())
    photos(folder / "photos")
    path = f"{programs}{os.pathsep}{environment['PATH']}"
    return Reader(folder, {**environment, "PATH": path, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""})


def people() -> str:
    """A table of 600 people, with a rare city and a missing income now and then."""
    cities = ("Bern", "Zürich", "Basel")
    rows = [
        f"{'yes' if row % 3 else 'no'},{cities[min(row % 40, 2)] if row % 40 != 1 else cities[row % 2]},"
        f"{'' if row % 50 == 7 else 0 if row % 6 == 0 else 173 * row % 100_000}"
        for row in range(600)
    ]
    return "\n".join(["ill,city,income", *rows]) + "\n"


def visits() -> str:
    """A table of 600 visits by 200 patients."""
    return "ill,patient,age\n" + "".join(f"{'no' if row % 4 else 'yes'},{row % 200},{20 + row % 60}\n" for row in range(600))


def photos(folder: Path) -> None:
    """Two classes of 150 random images."""
    for name in ("cats", "dogs"):
        (folder / name).mkdir(parents=True)
        for number in range(150):
            pixels = np.random.default_rng(number).integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
