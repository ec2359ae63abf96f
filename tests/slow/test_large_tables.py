"""A million rows of twenty columns, from declaration to file: how long it takes, and how much memory all processes have at once."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow.parquet as pq
import pytest
from support.homes import here
from support.slow_tier import FLOW

ROWS = 1_000_000
MINUTES, GIB = 10.0, 4.0
AT_ONCE = 100_000
WORDS = 12  # columns of categories
DEPENDS = [*FLOW, "workbench/methods/mst/**", "workbench/models/graphical/**", "workbench/records/**", "workbench/cli/samples.py"]


def write_table(path: Path, rows: int) -> None:
    """Twelve columns of words, seven of numbers (a heap in the first) and a target that depends on two of them."""
    draw = np.random.default_rng(0)
    for start in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - start)
        columns: dict[str, Any] = {}
        first = draw.integers(0, 4, count)
        for place in range(WORDS):
            other = np.where(draw.random(count) < 0.6, first, draw.integers(0, 4 + place, count))
            columns[f"word {place}"] = np.array([f"category {value}" for value in range(4 + place)])[other]
        columns["gain"] = np.where(draw.random(count) < 0.8, 0, draw.integers(100, 90_000, count))
        for place in range(6):
            columns[f"size {place}"] = np.round(draw.normal(50 + 10 * first, 9, count), 2)
        columns["target"] = np.where(draw.random(count) < 0.2 + 0.15 * first, "yes", "no")
        pd.DataFrame(columns).to_csv(path, mode="a", header=not start, index=False)


def command(*words: str) -> str:
    """What the command prints."""
    process = subprocess.run([sys.executable, "-m", "workbench.cli", *words], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-2_000:]
    return process.stdout


@contextmanager
def watched(peak: dict[str, float]) -> Iterator[None]:
    """Keep the most memory, in GiB, that the processes of this home have at once, this one left out."""
    ended, home = threading.Event(), os.environ["WORKBENCH_HOME"]

    def memory(process: psutil.Process) -> int:
        try:
            ours = process.pid != os.getpid() and process.environ().get("WORKBENCH_HOME") == home
            return process.memory_info().rss if ours else 0
        except psutil.Error:
            return 0

    def look() -> None:
        while not ended.wait(0.5):
            peak["all"] = max(peak["all"], sum(map(memory, psutil.process_iter())) / 2**30)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.timeout(3 * 60 * MINUTES)
@pytest.mark.slow(depends=DEPENDS)
def test_a_million_rows_go_in_and_come_out_in_ten_minutes(tmp_path: Path, figures: dict[str, Any]) -> None:
    """Declared, planned, trained by MST, drawn, and written as Parquet and as CSV."""
    table, peak, seconds = tmp_path / "large.csv", {"all": 0.0}, dict[str, float]()
    write_table(table, ROWS)
    ways = {
        "declare": lambda: (tmp_path / "large.declared.json").write_text(command("declare", str(table))),
        "plan": lambda: command("plan", "mst", "--dataset", str(table), "--epsilon", "1"),
        "train": lambda: command("train", "mst", "--dataset", str(table), "--epsilon", "1", "--wait", "--json"),
        "draw, and write Parquet": lambda: command("sample", run_of(), "--num", str(ROWS), "--out", str(tmp_path / "rows.parquet")),
        "write CSV": lambda: command("sample", run_of(), "--num", str(ROWS), "--out", str(tmp_path / "rows.csv")),
    }
    with watched(peak):
        for name, way in ways.items():
            began = time.monotonic()
            way()
            seconds[name] = time.monotonic() - began
    made = pq.read_table(tmp_path / "rows.parquet")
    assert (made.num_rows, made.num_columns) == (ROWS, WORDS + 8)
    with (tmp_path / "rows.csv").open() as file:
        assert sum(1 for _ in file) == ROWS + 1
    share = np.mean(np.array(made.column("gain").to_pylist()) == 0)
    figures |= {f"{name} (s)": round(value) for name, value in seconds.items()} | {"all (s)": round(sum(seconds.values()))}
    figures |= {"memory of all processes (GiB)": round(peak["all"], 2), "share of the heap": round(float(share), 3)}
    assert abs(share - 0.8) < 0.01
    assert sum(seconds.values()) <= 60 * MINUTES
    assert peak["all"] <= GIB


def run_of() -> str:
    """The one run there is."""
    from workbench.runs.store import RunStore

    (run,) = RunStore(here()).list()
    assert run.state == "done"
    return run.id
