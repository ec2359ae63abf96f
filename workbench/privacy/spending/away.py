"""What runs whose processes are elsewhere have spent: the ledger counts what their journals say."""

import json
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.privacy.spending.journals import Counts, read_journals
from workbench.sqlite import Database


def count_all(database: Database, home: Path) -> None:
    """Count what the journals of all runs say that the ledger in `home` has sent away."""
    with database.connected() as connection:
        sent = [tuple(row) for row in connection.execute("SELECT run_id, folder FROM away")]
    for run_id, folder in sent:
        count_run(database, home, run_id, folder)


def count_run(database: Database, home: Path, run_id: str, folder: str) -> bool:
    """Count what a run's journals in `folder`, as the ledger in `home` has it, say; whether all can be read.

    While some cannot, the most that their processes may have spent counts beside the others; while the folder cannot, all that was
    planned does, until it can be read again: what was drawn anew there is not known before.
    """
    try:
        journal = read_journals(home / folder)
    except (OSError, WorkbenchError):
        journal = None
    with database.connected() as connection:
        paid = "SELECT name, steps, charged, charged_again FROM stages WHERE run_id = ? AND spent != 'free'"
        known = {row["name"]: row for row in connection.execute(paid, (run_id,))}
        unread_row = connection.execute("SELECT unread FROM away WHERE run_id = ?", (run_id,)).fetchone()
    before: dict[str, list[int]] = json.loads(unread_row["unread"]) if unread_row else {}
    if journal is None:
        counts: Counts = {}
        unread = {name: list(map(max, (row["steps"], 0), before.get(name, (0, 0)))) for name, row in known.items()}
    else:
        counts, unread = journal.counts, {stage: list(pair) for stage, pair in journal.most.items()}
    more = [
        (charged, again, run_id, stage)
        for stage, (charged, again) in counts.items()
        if stage in known and (charged > known[stage]["charged"] or again > known[stage]["charged_again"])
    ]
    if more or unread != before:
        raised = "charged = max(charged, ?), charged_again = max(charged_again, ?)"
        with database.transaction() as connection:
            connection.executemany(f"UPDATE stages SET {raised} WHERE run_id = ? AND name = ?", more)
            connection.execute("UPDATE away SET unread = ? WHERE run_id = ?", (json.dumps(unread), run_id))
    return not unread
