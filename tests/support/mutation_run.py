"""Running tests on mutants: which tests reach a line, and whether one of them fails when the line is changed.

All happens in copies of the tree, one a core. A warm process that has imported the libraries, and nothing of the workbench, forks
once a mutant; the child imports its copy's workbench, runs the tests that reach the line, quickest first, and stops at the first
failure. What is known is kept in a file, so that an interrupted session goes on where it stopped.

    python -m support.mutation_run ROOT SCRATCH STORE COUNT SEED      (with ROOT/tests on the path; what the slow tier runs)
"""

import contextlib
import hashlib
import importlib
import json
import os
import pickle
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import coverage
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
KEEP_SECONDS = 60.0  # between two writings of what traces have told
LIMIT = 240  # seconds of the clock for one mutant: an endless loop counts as found
Item = TypeVar("Item")
Found = TypeVar("Found")
Reach = dict[str, Any]  # {"lines": {path: {line: [test]}}, "seconds": {test: seconds}}


class Reached:
    """A pytest plugin: which lines of the workbench every test runs, its fixtures included, and how long it takes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.measured = coverage.Coverage(data_file=None, config_file=False, include=[f"{root}/workbench/*"], messages=False)
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            self.failed.append(f"{report.nodeid} ({report.when}): {report.longreprtext[-2_000:]}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace one test."""
        self.measured.switch_context(item.nodeid)
        began = time.perf_counter()
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            self.seconds[item.nodeid] = round(time.perf_counter() - began, 3)
            self.measured.switch_context("")

    def lines(self) -> dict[str, dict[int, list[str]]]:
        """By file and line, the tests; a line that ran outside of every test, as its module was imported, has none."""
        data = self.measured.get_data()
        return {
            os.path.relpath(path, self.root): {line: sorted(filter(None, tests)) for line, tests in data.contexts_by_lineno(path).items()}
            for path in data.measured_files()
        }


def copy_tree(root: Path, copy: Path) -> None:
    """A fresh copy of everything that tests read."""
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".slow-home", "*.ipynb_checkpoints")
    shutil.copytree(root, copy, ignore=ignored)


def warm(libraries: Sequence[str]) -> None:
    """Import the libraries, and nothing of the workbench."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    for name in libraries:
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.split(".")[0] in ("support", "workbench")]:
        del sys.modules[name]


def stand_in(copy: Path) -> None:
    """Make `copy` the place that this process imports the workbench and its tests from."""
    os.environ["PYTHONPATH"] = str(copy)
    os.chdir(copy)
    sys.path[:0] = [str(copy), str(copy / "tests")]


def in_child(copy: Path, work: Callable[[], int], seconds: float) -> int | None:
    """The exit code of `work` in a fork of this process that stands in `copy`; None where it takes longer than `seconds`."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(quiet, descriptor)
        stand_in(copy)
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


def reach(copies: Sequence[Path], kept: Path) -> Reach:
    """Which tests reach which lines, traced file by file; a trace stands as long as the file and all that it ran."""
    copy, known = copies[0], json.loads(kept.read_text()) if kept.exists() else {}
    names = [str(path.relative_to(copy)) for folder in TESTS for path in sorted((copy / folder).rglob("test_*.py"))]
    names = [name for name in names if traceable(Path(name))]

    def trace(name: str, copy: Path) -> Reach:
        reached = traced(copy, name, kept.with_suffix(f".{copy.name}.now"))
        return reached | {"state": trace_state(copy, name, reached)}

    stale = [name for name in names if name not in known or known[name]["state"] != trace_state(copy, name, known[name])]
    written = time.monotonic()
    for name, reached in shared(trace, stale, copies):
        known[name] = reached
        if time.monotonic() - written > KEEP_SECONDS:  # what is known of all is long
            write(kept, known)
            written = time.monotonic()
    write(kept, known)
    whole: Reach = {"lines": {}, "seconds": {}}
    for name in names:
        whole["seconds"] |= known[name]["seconds"]
        for file, lines in known[name]["lines"].items():
            for line, tests in lines.items():
                whole["lines"].setdefault(file, {}).setdefault(str(line), []).extend(tests)
    return whole


def trace_state(copy: Path, name: str, reached: Reach) -> str:
    """What a trace follows from: its file of tests, and every module that it imported."""
    return digest(path for path in (copy / name, *(copy / file for file in sorted(reached["lines"]))) if path.exists())


def shared(work: Callable[[Item, Path], Found], items: Sequence[Item], copies: Sequence[Path]) -> Iterator[tuple[Item, Found]]:
    """What the work finds of every item, as items end: as many at a time as there are copies, each in a copy and a fork of its own.

    Forks come from this one thread: what a thread has forked cannot fork whole processes again.
    """
    waiting, free = list(reversed(items)), list(copies)
    busy: dict[int, tuple[int, Item, Path]] = {}
    while waiting or busy:
        while waiting and free:
            item, copy = waiting.pop(), free.pop()
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                answer(writing, work, item, copy)
            os.close(writing)
            busy[reading] = (child, item, copy)
        for reading in select.select(list(busy), [], [])[0]:
            child, item, copy = busy.pop(reading)
            with os.fdopen(reading, "rb") as pipe:
                done, result = pickle.loads(pipe.read(int.from_bytes(pipe.read(8), "big")))
            os.waitpid(child, 0)
            if not done:
                raise RuntimeError(result)
            free.append(copy)
            yield item, result


def answer(writing: int, work: Callable[[Item, Path], Found], item: Item, copy: Path) -> NoReturn:
    """Write what the work finds, or what stopped it, and end; the length goes first, as what the work has left behind may hold the pipe."""
    try:
        message = pickle.dumps((True, work(item, copy)))
    except BaseException as error:
        message = pickle.dumps((False, str(error)))
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(len(message).to_bytes(8, "big") + message)
    os._exit(0)


def traceable(path: Path) -> bool:
    """Whether the tests of a file may tell mutants apart: they run in this process, and in seconds."""
    return path.parts[1] not in LEFT_OUT and path.stem not in ("test_notebooks", "test_tooling", "test_slow_tier", "test_mutants")


def traced(copy: Path, name: str, path: Path) -> Reach:
    """The trace of one file of tests, which have to pass before mutants mean anything."""

    def work() -> int:
        plugin = Reached(copy)
        os.register_at_fork(after_in_child=plugin.measured.stop)  # what a test forks is not traced
        with plugin.measured.collect():
            code = pytest.main(["-q", "-p", "no:cacheprovider", name], plugins=[plugin])
        path.write_text(json.dumps({"lines": plugin.lines(), "seconds": plugin.seconds, "failed": plugin.failed}))
        return int(code)

    code = in_child(copy, work, 3600)
    if code not in (0, 5):  # 5: all its tests are in the slow tier
        failed = "\n".join(json.loads(path.read_text())["failed"]) if code == 1 else f"pytest returned {code}"
        raise RuntimeError(f"Expected the tests of {name} to pass before mutants mean anything.\n{failed}")
    return json.loads(path.read_text())


def digest(paths: Iterable[Path]) -> str:
    """Of the contents of files, 16 hexadecimal digits."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def write(path: Path, value: Any) -> None:
    """JSON, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value))
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
        code = in_child(copy, lambda: int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests])), LIMIT)
    finally:
        path.write_text(original)
    return "survived" if code == 0 else "killed"


def run(root: Path, scratch: Path, store: Path, count: int, seed: int, libraries: Sequence[str] = LIBRARIES) -> dict[str, dict[str, Any]]:
    """The outcome of `count` mutants drawn by `seed`, by their keys; `store` keeps them as they come.

    A mutant that was killed stays so as long as its file is as it was; one that survived, as long as its tests are too.
    """
    copies = [scratch / f"copy-{number}" for number in range(len(os.sched_getaffinity(0)))]
    for copy in copies:
        copy_tree(root, copy)
    warm(libraries)
    known = json.loads(store.read_text()) if store.exists() else {}
    chosen = drawn(copies[0], count, seed)
    reached = reach(copies, store.with_suffix(".reach.json"))

    def judge(mutant: Mutant, copy: Path) -> dict[str, Any]:
        tests = chosen_tests(reached, mutant)
        state = {"file": digest([root / mutant.path]), "tests": digest(root / name for name in sorted({t.split("::")[0] for t in tests}))}
        before = known.get(mutant.key, {})
        if before.get("file") == state["file"] and (before["outcome"] == "killed" or before["tests"] == state["tests"]):
            return before
        began = time.perf_counter()
        verdict = outcome(copy, mutant, tests)
        seconds = round(time.perf_counter() - began, 1)
        return state | {"outcome": verdict, "line": mutant.line, "seconds": seconds, "number_of_tests": len(tests)}

    for mutant, entry in shared(judge, chosen, copies):
        known[mutant.key] = entry
        write(store, known)
    return {mutant.key: known[mutant.key] for mutant in chosen}


def main() -> None:
    """Run as a process of its own: the tests' own process has imported the workbench already."""
    root, scratch, store, count, seed = sys.argv[1:]
    run(Path(root).resolve(), Path(scratch).resolve(), Path(store).resolve(), int(count), int(seed))


if __name__ == "__main__":
    main()
