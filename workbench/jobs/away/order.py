"""What the worker of a job that runs elsewhere is told: a JSON file in the job's folder, written anew for each attempt."""

import json
import sqlite3
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import DamagedFileError
from workbench.files import written_atomically
from workbench.jobs.registry import fields_of
from workbench.serialization import dumps

ORDER, CANCEL = "order.json", "cancel"


class Order(BaseModel):
    """An attempt at a job: its row and its run's, as the registry has them, where datasets lie, and the key of fingerprints.

    One that has `ended` has neither rows nor key; one for this machine, where the home is, has no key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempt: int
    ended: bool = False
    job: dict[str, Any] = {}
    run: dict[str, Any] | None = None
    data: str = ""
    key: str = ""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The order in a folder."""
        try:
            return cls.model_validate_json((folder / ORDER).read_text())
        except (OSError, ValidationError) as error:
            raise DamagedFileError(f"Expected an order for a worker in {folder / ORDER}, got none that can be read ({error}).") from error

    def write(self, folder: Path) -> None:
        """Put it in the place of the one before; workers of that one then write no more."""
        with written_atomically(folder / ORDER, durable=True) as file:
            file.write(dumps(self.model_dump()))


def end_order(folder: Path) -> None:
    """Put an ended order in the place of what a folder has: no process of it draws or writes from now on, and no key stays."""
    try:
        attempt = Order.read(folder).attempt
    except DamagedFileError:
        attempt = 0
    if (folder / ORDER).exists():
        Order(attempt=attempt, ended=True).write(folder)


def row_of(connection: sqlite3.Connection, table: str, name: str) -> dict[str, Any] | None:
    """A row as plain JSON values; None where there is none."""
    row = connection.execute(f"SELECT * FROM {table} WHERE id = ?", (name,)).fetchone()
    return None if row is None else json.loads(dumps(fields_of(row)))
