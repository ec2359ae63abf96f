"""Running tests on mutants: which tests reach a line, and whether one of them fails when the line is changed.

All happens in a copy of the tree. A warm process that has imported the libraries, and nothing of the workbench, forks once a
mutant; the child imports the copy's workbench, runs the tests that reach the line, quickest first, and stops at the first failure.
What is known is kept in a file, so that an interrupted session goes on where it stopped.

    python -m support.mutation_run ROOT COPY STORE COUNT SEED      (with ROOT/tests on the path; what the slow tier runs)
"""

import contextlib
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from support.mutants import Mutant, drawn, mutated

TESTS = ("tests",)  # but those of folders that only show, and those that start browsers, notebooks and applications
LEFT_OUT = ("browser", "fixtures", "pages", "recipes", "server", "slow", "support", "ui")
LIBRARIES = (  # whatever takes long to import
    "torch",
    "opacus",
    "scipy.stats",
    "scipy.signal",
    "sklearn.linear_model",
    "dp_accounting.pld.privacy_loss_distribution",
    "dp_accounting.rdp",
    "hypothesis",
    "pydantic",
    "PIL.Image",
    "plotly.graph_objects",
    "typer.testing",
    "psutil",
    "threadpoolctl",
    "mpmath",
)
SECONDS = 40.0  # of tests a mutant, as timed without it; a test that would go beyond is left out
LIMIT = 240  # seconds of the clock for one mutant: an endless loop counts as found
Reach = dict[str, Any]  # {"lines": {path: {line: [test]}}, "seconds": {test: seconds}}


class Reached:
    """A pytest plugin: which lines of the copy's workbench every test runs, and how long it takes."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root / 'workbench'}{os.sep}"
        self.lines: dict[str, dict[int, list[str]]] = {}
        self.seconds: dict[str, float] = {}
        self.now: set[tuple[str, int]] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Trace one test."""
        self.now = set()
        began = time.perf_counter()
        sys.settrace(self._enter)
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = round(time.perf_counter() - began, 3)
            for path, line in self.now:
                self.lines.setdefault(os.path.relpath(path, Path(self.root).parent), {}).setdefault(line, []).append(item.nodeid)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename.startswith(self.root) else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "line":
            self.now.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def copy_tree(root: Path, copy: Path) -> None:
    """A fresh copy of everything that tests read."""
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".slow-home", "*.ipynb_checkpoints")
    shutil.copytree(root, copy, ignore=ignored)


def warm(copy: Path, libraries: Sequence[str]) -> None:
    """Import the libraries and stand in the copy."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    os.chdir(copy)
    sys.path[:0] = [str(copy), str(copy / "tests")]
    for name in libraries:
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.split(".")[0] in ("support", "workbench")]:
        del sys.modules[name]
    sys.dont_write_bytecode = True


def in_child(work: Callable[[], int], seconds: float) -> int | None:
    """The exit code of `work` in a fork of this process; None where it takes longer than `seconds` of the clock."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(quiet, descriptor)
        os._exit(work())
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def reach(copy: Path, kept: Path) -> Reach:
    """Which tests reach which lines, traced file by file; a file's trace stands as long as the whole package does."""
    source = digest(sorted((copy / "workbench").rglob("*.py")))
    known: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    whole: Reach = {"lines": {}, "seconds": {}}
    for path in sorted(path for folder in TESTS for path in (copy / folder).rglob("test_*.py") if traceable(path.relative_to(copy))):
        name, state = str(path.relative_to(copy)), source + digest([path])
        if known.get(name, {}).get("state") != state:
            known[name] = traced(copy, name, kept.with_suffix(".now")) | {"state": state}
            write(kept, known)
        whole["seconds"] |= known[name]["seconds"]
        for file, lines in known[name]["lines"].items():
            for line, tests in lines.items():
                whole["lines"].setdefault(file, {}).setdefault(line, []).extend(tests)
    return whole


def traceable(path: Path) -> bool:
    """Whether the tests of a file may tell mutants apart: they run in this process, and in seconds."""
    return path.parts[1] not in LEFT_OUT and path.stem not in ("test_notebooks", "test_tooling", "test_slow_tier", "test_mutants")


def traced(copy: Path, name: str, found: Path) -> Reach:
    """The trace of one file of tests, which have to pass before mutants mean anything."""

    def work() -> int:
        plugin = Reached(copy)
        code = pytest.main(["-q", "-p", "no:cacheprovider", name], plugins=[plugin])
        found.write_text(json.dumps({"lines": plugin.lines, "seconds": plugin.seconds}))
        return int(code)

    code = in_child(work, 3600)
    if code not in (0, 5):  # 5: all its tests are in the slow tier
        raise RuntimeError(f"Expected the tests of {name} to pass before mutants mean anything; pytest returned {code}.")
    return json.loads(found.read_text())


def digest(paths: list[Path]) -> str:
    """Of the contents of files, 16 hexadecimal digits."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def write(path: Path, value: Any) -> None:
    """JSON, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, indent=1))
    os.replace(partial, path)


def chosen_tests(reached: Reach, mutant: Mutant) -> list[str]:
    """The tests that reach the mutant's line, quickest first; those that reach its file for a line that runs at import."""
    lines, seconds = reached["lines"].get(mutant.path, {}), reached["seconds"]
    here = [] if mutant.at_import else lines.get(str(mutant.line), [])
    tests = set(here) or {test for tests in lines.values() for test in tests}
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda test: (seconds[test], test)):
        total += seconds[test] + 0.02
        if total > SECONDS:
            break
        chosen.append(test)
    return chosen


def outcome(copy: Path, mutant: Mutant, tests: list[str]) -> str:
    """'killed', 'survived', or 'not reached' where no test runs the line."""
    if not tests:
        return "not reached"
    path = copy / mutant.path
    original = path.read_text()
    try:
        path.write_text(mutated(copy, mutant))
        code = in_child(lambda: int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests])), LIMIT)
    finally:
        path.write_text(original)
    return "survived" if code == 0 else "killed"


def run(root: Path, copy: Path, store: Path, count: int, seed: int, libraries: Sequence[str] = LIBRARIES) -> dict[str, dict[str, Any]]:
    """The outcome of `count` mutants drawn by `seed`, by their keys; `store` keeps them as they come.

    A mutant that was killed stays so as long as its file is as it was; one that survived, as long as its tests are too.
    """
    copy_tree(root, copy)
    warm(copy, libraries)
    known = json.loads(store.read_text()) if store.exists() else {}
    chosen = drawn(copy, count, seed)
    reached = reach(copy, store.with_suffix(".reach.json"))
    for mutant in chosen:
        tests = chosen_tests(reached, mutant)
        state = {"file": digest([copy / mutant.path]), "tests": digest([copy / name for name in sorted({t.split("::")[0] for t in tests})])}
        before = known.get(mutant.key, {})
        if before.get("file") == state["file"] and (before["outcome"] == "killed" or before["tests"] == state["tests"]):
            continue
        began = time.perf_counter()
        found = outcome(copy, mutant, tests)
        seconds = round(time.perf_counter() - began, 1)
        known[mutant.key] = state | {"outcome": found, "line": mutant.line, "seconds": seconds, "number_of_tests": len(tests)}
        write(store, known)
    return {mutant.key: known[mutant.key] for mutant in chosen}


def main() -> None:
    """Run as a process of its own: the tests' own process has imported the workbench already."""
    root, copy, store, count, seed = sys.argv[1:]
    run(Path(root).resolve(), Path(copy).resolve(), Path(store).resolve(), int(count), int(seed))


if __name__ == "__main__":
    main()
