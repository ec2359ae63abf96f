"""What a benchmark may take at most, and whether it did."""

import statistics
from collections.abc import Sequence
from typing import Any


def limit_row(benchmark: str, variant: str, values: Sequence[float], limit: float) -> dict[str, Any]:
    """The median of `values` beside the largest one that is allowed, both in seconds or in the ratio that `variant` names."""
    value = statistics.median(values)
    return {"benchmark": benchmark, "variant": variant, "value": value, "limit": limit, "rounds": len(values), "met": value <= limit}


def print_limits(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """One line a row, with "met" or "MISSED"."""
    print(f"\n{title:80}{'median':>10}{'limit':>8}")
    for row in rows:
        print(
            f"{row['benchmark'] + ', ' + row['variant']:80}{row['value']:10.4f}{row['limit']:8.2f}  {'met' if row['met'] else 'MISSED'}",
            flush=True,
        )
