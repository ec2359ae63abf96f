"""The search for nearest neighbours beside faiss's flat index: one pair of what `make bench` takes three of."""

from typing import Any

import pytest

from benchmarks import neighbours


@pytest.mark.slow(depends=["workbench/evaluation/nearest.py", "benchmarks/neighbours.py", "benchmarks/limits.py"])
def test_it_keeps_its_limits(figures: dict[str, Any]) -> None:
    pytest.importorskip("faiss")
    rows = neighbours.rows(repeats=1)
    figures |= {row["variant"]: f"{row['value']:.3g} (limit {row['limit']:g})" for row in rows}
    assert {row["variant"] for row in rows} == set(neighbours.LIMITS)
    assert [row["variant"] for row in rows if row["value"] > row["limit"]] == []
