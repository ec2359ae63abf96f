"""The ledger's rows: a stage as it is written, a run as it is read."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.privacy.spending.totals import LedgerEntry, StageSpending
from workbench.privacy.spending.whose import records_of

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

RUNS = "run_id, fingerprint, dataset, method, purpose, delta, opened_at, closed_at, account, public, ended_early"
PLANNED = "position, name, spent, steps, event, relations, sampling, reason, sampler_distance"
SPENT = "name, spent, steps, charged, charged_again, event, relations, sampling, reason, sampler_distance"


def columns(stage: "Stage") -> tuple[str, str, int, str, str, str, str, float]:
    """A stage as `PLANNED` names its columns, without its position."""
    from workbench.privacy.accounting.events import event_to_json

    event = json.dumps(event_to_json(stage.event), sort_keys=True)
    relations = " ".join(stage.relations)
    return stage.name, stage.spent, stage.steps, event, relations, stage.sampling, stage.reason, float(stage.sampler_distance)


def planned_columns(stage: StageSpending) -> tuple[str, str, int, str, str, str, str, float]:
    """A stage of another ledger as `columns` gives one that is planned."""
    event, relations = json.dumps(stage.event, sort_keys=True), " ".join(stage.relations)
    return stage.stage, stage.spent, stage.steps, event, relations, stage.sampling, stage.reason, float(stage.sampler_distance)


def comparable(plan: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What planned rows spend: their relations as a set, as which is reported first changes nothing, and no words for people."""
    at = PLANNED.split(", ").index("relations")
    return [(*row[:at], frozenset(row[at].split()), row[-1]) for row in plan]


def entry_of(connection: sqlite3.Connection, row: Sequence[Any]) -> LedgerEntry:
    """A run from its row of `RUNS`, with what its stages have spent; its account is that of whose records it was on.

    Where journals of it cannot be read, it has spent the most that their processes may have.
    """
    away = connection.execute("SELECT unread FROM away WHERE run_id = ?", (row[0],)).fetchone()
    unread: dict[str, tuple[int, int]] = json.loads(away[0]) if away else {}
    rows = connection.execute(f"SELECT {SPENT} FROM stages WHERE run_id = ? ORDER BY position", (row[0],))
    stages = [
        StageSpending(name, spent, steps, charged, again, json.loads(event), tuple(relations.split()), sampling, reason, distance)
        for name, spent, steps, charged, again, event, relations, sampling, reason, distance in rows
    ]
    if unread:
        most = [unread.get(stage.stage, (0, 0)) for stage in stages]
        pairs = [(max(one.charged, charged), max(one.charged_again, again)) for one, (charged, again) in zip(stages, most, strict=True)]
        stages = [replace(one, charged=charged, charged_again=again) for one, (charged, again) in zip(stages, pairs, strict=True)]
    *run, account, public, early = row
    more = {"public": public, "unread": bool(unread), "ended_early": bool(early)}
    return LedgerEntry(*run, account=records_of(account), stages=tuple(stages), **more)


def planned_steps(connection: sqlite3.Connection, run_id: str, stage: str) -> int:
    """How many steps of a stage were planned when its run was opened; a stage or a run that is not known is refused."""
    row = connection.execute("SELECT steps FROM stages WHERE run_id = ? AND name = ?", (run_id, stage)).fetchone()
    if row is None:
        raise WorkbenchError(f"Expected a stage the ledger knows, got {stage!r} of run {run_id!r}. Open the run before it touches data.")
    return row[0]
