"""Processes of a run that know nothing of one another, in random order, late, torn and killed: the ledger has at least what was drawn."""

import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import GaussianDpEvent

from workbench.errors import WorkbenchError
from workbench.jobs.away.order import Order, end_order
from workbench.jobs.away.post import Post
from workbench.jobs.heartbeat import Progress
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.account import Account

STEPS = 8
STAGE = Stage("train", GaussianDpEvent(1.0), "per_step", STEPS)
SEEDS = range(24)


@dataclass
class Shared:
    """The folder of a run, whose checkpoint and model are plain values here, and all noise that was drawn."""

    folder: Path
    chance: random.Random
    checkpoint: dict[str, Any] = field(default_factory=dict[str, Any])
    has_model: bool = False
    drawn: set[tuple[float, int]] = field(default_factory=set[tuple[float, int]])
    sums: dict[tuple[float, int], str] = field(default_factory=dict[tuple[float, int], str])


@dataclass
class Known:
    """What an account asks of a run."""

    id: str = "run"
    charged: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


def worker(shared: Shared, attempt: int, machine: str, scratch: Path) -> Iterator[None]:
    """One process, as `workbench.runs.fitting` goes about it; at each `yield` it may stand still, or be killed."""
    post = Post.take(shared.folder, attempt)
    yield
    known, ledger = post.begin(), Ledger(scratch)
    ledger.open_run("run", "data", "digits", "dpdm", [STAGE], 1e-5)
    for stage, (charged, again) in known.items():
        if charged:
            ledger.charge("run", stage, charged)
        ledger.charge_again("run", stage, again)
    account = Account(ledger, Known(), [STAGE], Progress(), post.journal)  # type: ignore[arg-type]
    yield
    if shared.has_model and not shared.checkpoint:
        post.journal.close()
        return
    state = dict(shared.checkpoint) or {"key": shared.chance.random(), "step": 0, "machine": machine}
    if shared.checkpoint:
        account.bring_up({"train": state["step"]}, {"train": state["again"]})
        account.go_on(state["lineage"], {"train": state["step"]})
    elif account.has_spent:
        return
    else:
        account.begin_lineage({})
    yield
    if state["machine"] != machine:
        account.count_again({"train": state["step"]}, "another machine")
        state |= {"key": shared.chance.random(), "machine": machine}
    while True:
        if shared.chance.random() < 0.5 or state["step"] in (0, STEPS) or "lineage" not in state:
            if post.is_taken_over():
                return
            yield
            state |= {"lineage": account.lineage, "again": account.counts["train"][1]}
            shared.checkpoint = dict(state)
            yield
            if post.is_taken_over():
                if post.is_closed():
                    shared.checkpoint = {}
                return
        if state["step"] == STEPS:
            break
        account.charge("train", state["step"] + 1)
        yield
        if post.is_taken_over():
            return
        yield
        state["step"] += 1
        noise = state["key"], state["step"]
        shared.drawn.add(noise)
        assert shared.sums.setdefault(noise, machine) == machine, "one noise over the sums of two machines"
    if post.is_taken_over():
        return
    yield
    shared.has_model = True
    if post.is_taken_over():
        return
    yield
    post.journal.close()
    yield
    shared.checkpoint = {}


def tear(post: Path, chance: random.Random) -> None:
    """A process that is killed may leave a part of a row."""
    if chance.random() < 0.5:
        for journal in sorted(post.glob("*.jsonl"))[-1:]:
            if journal.read_bytes().endswith(b"\n") or not journal.stat().st_size:
                with journal.open("a") as file:
                    file.write('{"lineage": "torn", "stage": "train", "st')


def simulate(seed: int, place: Path) -> tuple[int, int]:
    """Some processes and attempts of a run; how many steps were drawn, and how many are counted when the home has ended it."""
    chance, ledger = random.Random(seed), place / "ledger.sqlite"
    shared = Shared(place / "away", chance)
    shared.folder.mkdir(parents=True)
    Ledger(ledger).open_run("run", "data", "digits", "dpdm", [STAGE], 1e-5)
    shutil.copytree(place, before := place.with_name(f"{place.name}-before"))
    attempt, alive, newest = 0, list[Iterator[None]](), None

    def sent() -> None:
        end_order(shared.folder)
        Ledger(ledger).send_away("run", shared.folder)
        Order(attempt=attempt).write(shared.folder)

    def go(process: Iterator[None]) -> None:
        try:
            next(process)
        except (StopIteration, WorkbenchError):
            alive.remove(process)

    for turn in range(chance.randint(15, 120)):
        luck = chance.random()
        if luck < 0.02 or not attempt:
            attempt += 1
            sent()
        elif luck < 0.07 or not alive:
            newest = worker(shared, attempt, chance.choice("xy"), place / f"{turn}.sqlite")
            alive.append(newest)
        elif luck < 0.09 and chance.random() < 0.5:
            alive.remove(chance.choice(alive))
            if not any(one is newest for one in alive):
                tear(shared.folder, chance)
        elif luck < 0.1:
            shutil.copy(before / "ledger.sqlite", ledger)  # put back from before it was sent
            for log in ("-wal", "-shm"):
                ledger.with_name(f"ledger.sqlite{log}").unlink(missing_ok=True)
            Ledger(ledger).send_away("run", shared.folder)
        else:
            go(newest if newest in alive and chance.random() < 0.8 else chance.choice(alive))
    end_order(shared.folder)
    Ledger(ledger).close_run("run")
    for process in list(alive):  # whoever still looks finds it ended
        while process in alive:
            go(process)
    stage = Ledger(ledger).spent("run")[0]
    return len(shared.drawn), stage.count


def test_no_order_of_processes_draws_more_than_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    totals = [simulate(seed, tmp_path / str(seed)) for seed in SEEDS]
    assert all(drawn <= counted for drawn, counted in totals), totals
    assert sum(drawn > STEPS for drawn, _ in totals) > len(totals) / 4, "steps were drawn twice in many of them"
    assert sum(drawn == counted for drawn, counted in totals) > len(totals) / 4, "and many count exactly"
