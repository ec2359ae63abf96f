"""What a home of 10 000 runs takes to list, and eight processes that write how far they are at once.

`python -m benchmarks.registry` prints a table.
"""

import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.limits import limit_row, print_limits

RUNS, ROUNDS, WRITERS, WRITES = 10_000, 5, 8, 200
TITLE, WRITING = f"a registry of {RUNS:,} runs, seconds", f"{WRITERS} workers that write to one registry"
LIMIT = 0.1
METHODS = ("dp-merf", "class-moments", "dpdm", "dp-promise")


def rows() -> list[dict[str, Any]]:
    """One row a limit, as `limit_row` makes them; printed too."""
    from workbench.workspace import Workspace

    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.open(Path(folder) / "home")
        fill(workspace)
        result = [limit_row(TITLE, name, query_seconds(query), LIMIT) for name, query in queries(workspace).items()]
        seconds, waits, errors = write_seconds(workspace)
    each = f"seconds a write, {WRITERS * WRITES / seconds:.0f} a second"
    result.append(limit_row(WRITING, each, [seconds / (WRITERS * WRITES)], 1 / WRITES))
    result.append(limit_row(WRITING, "the slowest write, seconds", [max(waits)], 5.0))
    result.append(limit_row(WRITING, "errors of a lock", [errors], 0))
    print_limits(TITLE, result)
    return result


def fill(workspace: Any) -> None:
    """Register one run by the usual way and the others by copies of its rows."""
    from workbench import datasets, experiment, runs
    from workbench.jobs.registry import registry
    from workbench.training.state import PerformanceSettings

    plan = experiment.make_plan("dp-merf", datasets.load("digits", workspace=workspace).facts, epsilon=10.0)
    runs.register(workspace, plan, "digits", performance=PerformanceSettings(device="cpu"))
    with registry(workspace).transaction() as connection:
        job, run = (dict(connection.execute(f"SELECT * FROM {table}").fetchone()) for table in ("jobs", "runs"))
        for number in range(RUNS):
            name = f"a{number:07d}"
            life = {"id": name, "owner": name, "state": "done" if number % 50 else "failed", "created": float(number), "attempt": 1}
            what = {"id": name, "method": METHODS[number % 4], "settled": 1, "tags": json.dumps([f"tag{number % 20}"])}
            for table, row in (("jobs", job | life), ("runs", run | what)):
                connection.execute(f"INSERT INTO {table} ({','.join(row)}) VALUES ({','.join('?' * len(row))})", tuple(row.values()))


def queries(workspace: Any) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    from workbench.runs.selection import SORTS, Selection
    from workbench.runs.store import RunStore

    store = RunStore(workspace)

    def page(selection: Selection) -> None:
        assert store.facets().named
        assert store.count(selection)
        assert store.select(selection)

    by_bound = Selection(methods=("dpdm",), tags=("tag2",), order=list(SORTS)[1], limit=100)
    return {
        "the newest 100": lambda: store.select(Selection(limit=100)),
        "those that failed": lambda: store.select(Selection(states=("failed",), limit=100)),
        "a method, a tag, by bound": lambda: store.select(by_bound),
        "all of the Runs page": lambda: page(Selection(limit=100)),
        "all of the Runs page, filtered": lambda: page(by_bound),
        "one run": lambda: store.get("a0005000"),
    }


def query_seconds(query: Callable[[], object]) -> list[float]:
    """Seconds of each round, the first left out: it imports."""
    query()
    result: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        query()
        result.append(time.perf_counter() - began)
    return result


def write_seconds(workspace: Any) -> tuple[float, list[float], int]:
    """Seconds that all writes took, what each of them took, and how many failed."""
    from workbench.jobs.registry import registry, update

    with registry(workspace).transaction() as connection:
        for number in range(WRITERS):
            update(connection, "jobs", f"a{number:07d}", {"state": "running", "process": {"pid": 1, "started": "0", "boot": "elsewhere"}})
    context = multiprocessing.get_context("spawn")
    with context.Pool(WRITERS) as pool:
        pool.map(_ready, range(WRITERS))
        began = time.perf_counter()
        answers = pool.starmap(_write, [(str(workspace.home), number) for number in range(WRITERS)], chunksize=1)
        seconds = time.perf_counter() - began
    return seconds, [wait for waits, _ in answers for wait in waits], sum(errors for _, errors in answers)


def _ready(number: int) -> int:
    import workbench.runs.store

    time.sleep(0.5)
    return number + len(workbench.runs.store.RUNS)


def _write(home: str, number: int) -> tuple[list[float], int]:
    """The waits of one worker, which writes as often as it may, and its errors."""
    import sqlite3

    from workbench.runs.store import RunStore
    from workbench.workspace import Workspace

    store, waits, errors = RunStore(Workspace.open(Path(home))), list[float](), 0
    for step in range(WRITES):
        began = time.perf_counter()
        try:
            assert store.beat(f"a{number:07d}", 1, step=step, epsilon_spent=1.0) == "running"
        except sqlite3.Error:
            errors += 1
        waits.append(time.perf_counter() - began)
    return waits, errors


if __name__ == "__main__":
    rows()
