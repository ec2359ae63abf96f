"""The privacy core at the speeds that a page needs, on a quiet machine."""

from typing import Any

import pytest

from benchmarks import privacy


@pytest.mark.slow(depends=["workbench/privacy/**", "benchmarks/privacy.py"])
def test_every_part_keeps_its_limit(figures: dict[str, Any]) -> None:
    rows = privacy.rows()
    figures |= {row["variant"]: f"{row['value']:.3g} (limit {row['limit']:g})" for row in rows}
    assert {row["variant"] for row in rows} == set(privacy.LIMITS)
    assert [row["variant"] for row in rows if row["value"] > row["limit"]] == []
