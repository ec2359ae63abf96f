"""The workspace of the test at work, which `tests/conftest.py` puts in a folder of its own."""

import json

from workbench.sqlite import Database
from workbench.workspace import Workspace


def here() -> Workspace:
    """The default workspace, as pages and the command line ask for it."""
    return Workspace.default()


def with_copies(registry: Database, number: int) -> None:
    """Add copies of a registry's first run: every state that a run may end in, two methods, twenty tags."""
    with registry.transaction() as connection:
        job, run = (dict(connection.execute(f"SELECT * FROM {table}").fetchone()) for table in ("jobs", "runs"))
        for place in range(number):
            name = f"a{place:07d}"
            state = ("done", "done", "done", "failed", "lost", "cancelled")[place % 6]
            life = {"id": name, "owner": name, "state": state, "created": float(place), "attempt": 1}
            what = {"id": name, "method": ("dp-merf", "dpdm")[place % 2], "settled": 1, "tags": json.dumps([f"tag{place % 20}"])}
            for table, row in (("jobs", job | life), ("runs", run | what)):
                connection.execute(f"INSERT INTO {table} ({','.join(row)}) VALUES ({','.join('?' * len(row))})", tuple(row.values()))
