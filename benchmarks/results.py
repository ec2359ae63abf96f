"""The file of results: what a benchmark measured takes the place of what it measured before, and the rest stays."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report

Row = dict[str, Any]
SAME_ROW = ("benchmark", "variant", "noise_multiplicity", "parameters")
SAME_LIMIT = ("benchmark", "variant")


def renew(out: Path, rows: Sequence[Row] = (), limits: Sequence[Row] = (), machine: Mapping[str, Any] | None = None) -> None:
    """Write rows of the private step, limits with the commit that they are of, and the machine, to `out`; their tables go beside it.

    Rows of the private step that another machine measured are dropped with their limits: ratios of two machines do not stand in one table.
    """
    before = json.loads(out.read_text()) if out.exists() else {"machine": None, "rows": [], "limits": []}
    old_rows, old_limits = before["rows"], before["limits"]
    if machine is not None and before["machine"] != machine:
        old_rows, old_limits = [], [row for row in old_limits if not row["benchmark"].startswith("private step")]
    results = {
        "machine": before["machine"] if machine is None else machine,
        "rows": _joined_rows(old_rows, rows, SAME_ROW),
        "limits": _joined_rows(old_limits, [row | {"commit": commit()} for row in limits], SAME_LIMIT),
    }
    out.write_text(json.dumps(results, indent=1) + "\n")
    out.with_suffix(".md").write_text(report.markdown(results))


def commit() -> str:
    """The short name of the commit at work, with a word where the tree differs from it; "unknown" outside a checkout."""
    done = subprocess.run(["git", "describe", "--always", "--dirty= with changes"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _joined_rows(before: Sequence[Row], now: Sequence[Row], same: Sequence[str]) -> list[Row]:
    """Rows in the order of before, those of `now` in place of the ones they renew, new ones at the end."""
    renewed = {tuple(row[name] for name in same): row for row in now}
    kept = [renewed.pop(tuple(row[name] for name in same), row) for row in before]
    return [*kept, *renewed.values()]
