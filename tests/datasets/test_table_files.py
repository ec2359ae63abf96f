"""Rows of tables as files of other tools: types, notes, and the same rows back."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import uneven_table
from typer.testing import CliRunner

from workbench.cli.commands import app
from workbench.datasets.base import DatasetFacts
from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.row_files import reading_progress
from workbench.datasets.table_files import AT_ONCE, TableFile
from workbench.errors import WorkbenchError
from workbench.records import Records
from workbench.runs.samples.imported import read_samples


def test_rows_leave_as_parquet_with_types_and_their_notes_and_read_back(tmp_path: Path) -> None:
    declared = TableDeclaration.parse(
        '{"columns": [{"name": "size", "edges": [0, 1.5, 9], "points": [0, 2.5], "missing": "unknown"}, '
        '{"name": "visits", "edges": [0, 1, 20]}, '
        '{"name": "town", "categories": ["=A", "B"]}, {"name": "ill", "categories": ["no", "yes"]}], "target": "ill"}'
    )
    kind, draw = declared.kind, np.random.default_rng(0)
    records = Records(kind.draw(AT_ONCE + 40, draw), draw.integers(0, 2, AT_ONCE + 40))
    facts = DatasetFacts(name="own", kind=kind, num_records=len(records), classes=declared.classes)
    TableFile(records, facts, {"releasable": False}).write(tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    assert json.loads(table.schema.metadata[b"workbench"]) == {"releasable": False}
    words = pa.dictionary(pa.int32(), pa.string())
    assert dict(zip(table.column_names, table.schema.types, strict=True)) == {
        "size": pa.float64(), "visits": pa.int64(), "town": words, "ill": words,
    }  # fmt: skip
    sizes, visits = (table.column(name).to_numpy() for name in ("size", "visits"))
    assert np.array_equal(np.isnan(sizes), records.records[:, 0] == kind.columns[0].categories.index("unknown"))
    assert np.array_equal(sizes == 2.5, records.records[:, 0] == kind.columns[0].categories.index("2.5"))
    assert np.array_equal(visits >= 1, records.records[:, 1] == 1)
    assert table.column("town").to_pylist()[:9] == [("=A", "B")[value] for value in records.records[:9, 2]], "no spreadsheet reads it"
    heard = list[float]()
    with reading_progress(heard.append):
        read_samples(tmp_path / "rows.parquet", facts)
    assert heard[-1] == 1.0
    assert heard == sorted(heard)
    for back in (read_samples(tmp_path / "rows.parquet", facts), read_samples(tmp_path / "rows.parquet", facts, declared)):
        assert np.array_equal(back.records, records.records)
        assert back.labels is not None
        assert records.labels is not None
        assert np.array_equal(back.labels, records.labels)
    heard = list[float]()
    TableFile(records, facts, {}).write(tmp_path / "rows.csv", heard.append)
    assert heard == [AT_ONCE / len(records), 1.0]
    assert (tmp_path / "rows.csv").read_text().count("size,visits") == 1
    frame = pd.read_csv(tmp_path / "rows.csv", dtype=str)
    assert len(frame) == len(records)
    assert np.array_equal([float(text) if text != "unknown" else np.nan for text in frame["size"]], sizes, equal_nan=True), "the same draw"
    TableFile(records, facts, {}, numbers=False).write(tmp_path / "names.parquet")
    assert pq.read_table(tmp_path / "names.parquet").column("visits").to_pylist()[0] in kind.columns[1].categories
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(WorkbenchError, match=r"Parquet file at .*broken\.parquet, which cannot be read"):
        read_samples(tmp_path / "broken.parquet", facts)


def test_the_command_measures_a_file_of_another_tool(tmp_path: Path) -> None:
    table = uneven_table(tmp_path)
    rows = pd.read_csv(table, dtype=str)[["income", "degree", "hours", "sex"]].sample(60, random_state=0)
    rows.to_csv(tmp_path / "theirs.csv", index=False)
    rows.to_parquet(tmp_path / "theirs.parquet")
    values = []
    for name in ("theirs.csv", "theirs.parquet"):
        command = ["evaluate", str(tmp_path / name), "--dataset", str(table), "--metric", "one_way_marginals", "--json"]
        ran = CliRunner().invoke(app, command, catch_exceptions=False)
        assert "no bound holds for them" in ran.stderr
        values.append([row["value"] for row in json.loads(ran.stdout)["results"]])
    assert values[0] == values[1]
    assert 0 < values[0][0] < 0.2, "columns are told by their names, in whatever order"
