"""Tables of one's own: declared values are read, others rejected with their line number, and every bad file gets its sentence."""

import itertools
import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from workbench import datasets
from workbench.cli.commands import app
from workbench.datasets.declaration import DeclaredColumn, TableDeclaration
from workbench.datasets.ordered_words import ordered_words
from workbench.datasets.proposal import decimals_of, proposal, propose, propose_column
from workbench.datasets.proposed_edges import round_edges, shares_between, suited_ranges
from workbench.datasets.reference import DatasetRef
from workbench.datasets.table_files import TableFile, numbers_of
from workbench.errors import WorkbenchError

DECLARED = TableDeclaration(
    columns=(
        DeclaredColumn(name="colour", categories=("red", "blue"), other="another", missing="unknown"),
        DeclaredColumn(name="age", edges=(0, 18, 65, 120), missing="unknown"),
        DeclaredColumn(name="ill", categories=("no", "yes")),
    ),
    target="ill",
)
ROWS = ["red,17,no", "blue,18,yes", "mauve,200,no", "NA,,yes", " red ,64.5,no", "pink,-3,yes"]


def write(folder: Path, *lines: str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def people(folder: Path) -> Path:
    return write(folder, "colour,note,age,ill", *(f"{row.split(',')[0]},x,{','.join(row.split(',')[1:])}" for row in ROWS))


def test_cells_become_the_categories_declared(tmp_path: Path) -> None:
    dataset = datasets.load(people(tmp_path), declared=DECLARED)
    everyone = dataset.train.followed_by(dataset.held_out)
    assert everyone.labels is not None
    rows = sorted(map(tuple, np.column_stack([everyone.records, everyone.labels]).tolist()))
    assert rows == sorted([(0, 0, 0), (1, 1, 1), (2, 2, 0), (3, 3, 1), (0, 1, 0), (2, 0, 1)])
    columns = dataset.facts.kind.columns  # pyright: ignore[reportAttributeAccessIssue]
    assert columns[0].categories == ("red", "blue", "another", "unknown")
    assert columns[1].categories == ("[0, 18)", "[18, 65)", "[65, 120]", "unknown")
    assert (dataset.facts.classes, dataset.facts.num_records, len(dataset.held_out)) == (("no", "yes"), 5, 1)
    assert dataset.facts == datasets.facts(tmp_path / "people.csv", declared=DECLARED)
    frame = dataset.facts.kind.frame(dataset.train, dataset.facts.classes)  # pyright: ignore[reportAttributeAccessIssue]
    assert list(frame) == ["colour", "age", "ill"], "in the file's order"


def test_held_out_rows_of_ones_own_leave_all_others_to_train_on(tmp_path: Path) -> None:
    path, held_out = people(tmp_path), write(tmp_path, "age,ill,colour", "70,no,red", "5,yes,pink", name="later.csv")
    dataset = datasets.load(path, declared=DECLARED, held_out=held_out)
    assert (dataset.facts.num_records, len(dataset.train), len(dataset.held_out)) == (6, 6, 2)
    assert dataset.held_out.records.tolist() == [[0, 2], [2, 0]]
    assert dataset.facts == datasets.facts(path, declared=DECLARED, held_out=held_out)
    write(tmp_path, "age,ill,colour", *["1,yes,blue"] * 9, name="later.csv")
    assert dataset.facts == datasets.facts(path, declared=DECLARED, held_out=held_out), "no held-out row decides a fact"
    again = datasets.load(path, declared=DECLARED, held_out=held_out)
    assert dataset.fingerprint(b"k" * 32) == again.fingerprint(b"k" * 32), "which is of the training rows"
    write(tmp_path, *path.read_text().splitlines(), name="later.csv")
    for read in (datasets.facts, datasets.load):
        with pytest.raises(WorkbenchError, match=r"apart from the training rows, got a copy of people\.csv"):
            read(path, declared=DECLARED, held_out=held_out)
        with pytest.raises(WorkbenchError, match="Expected held-out rows in a CSV file at"):
            read(path, declared=DECLARED, held_out=tmp_path / "none.csv")
    with pytest.raises(WorkbenchError, match="Expected a declaration of columns beside a file of one's own, got one beside digits"):
        DatasetRef.parse("digits", declared="anything")
    with pytest.raises(WorkbenchError, match=r"Expected held-out rows beside a \.csv file"):
        DatasetRef.parse("digits", held_out=str(held_out))


def test_rows_decide_no_fact_and_no_place(tmp_path: Path) -> None:
    one = datasets.load(people(tmp_path), declared=DECLARED)
    changed = ["blue,19,yes", *ROWS[1:]]
    write(tmp_path, "colour,note,age,ill", *(f"{row.split(',')[0]},x,{','.join(row.split(',')[1:])}" for row in changed))
    other = datasets.load(tmp_path / "people.csv", declared=DECLARED)
    assert one.facts == other.facts
    moved = [(a != b).any() for a, b in zip(one.train.records, other.train.records, strict=True)]
    assert sum(moved) + (one.held_out.records != other.held_out.records).any() == 1


def test_a_cell_that_is_not_declared_is_told_by_its_line_alone(tmp_path: Path) -> None:
    path = write(tmp_path, "colour,age,ill", "red,3,no", "red,4,perhaps", "red,5,yes")
    with pytest.raises(WorkbenchError, match=r"the column 'ill' of people\.csv, got another in line 3") as refused:
        datasets.load(path, declared=DECLARED)
    assert "perhaps" not in str(refused.value)
    keys = '("other": "other") or for empty cells ("missing": "missing") in the column.'
    assert str(refused.value).endswith(f"Declare it, or a category for every other text {keys}")


def test_the_page_of_an_own_table_shows_a_declaration_that_reads_what_it_says() -> None:
    text = (Path(__file__).parents[2] / "docs/start/own-table.md").read_text()
    declared = TableDeclaration.parse(text.partition("```json\n")[2].partition("```")[0])
    ill, city, income = declared.columns
    assert [ill.column.categories[place] for place in ill.category_numbers(["no", "yes"], "it")] == ["no", "yes"]
    assert [city.column.categories[place] for place in city.category_numbers(["Bern", "Chur"], "it")] == ["Bern", "elsewhere"]
    there = [income.column.categories[place] for place in income.category_numbers(["0", "1", "", "60000.55", "missing"], "it")]
    assert there == ["0", "[0, 20000)", "missing", "[50000, 100000]", "missing"]


BAD: dict[str, tuple[list[str], str]] = {
    "nothing": ([""], "at least two columns with commas between"),
    "no header": (["5.1,3.5,yes", "4.9,3.0,no"], "a first line of column names"),
    "one column": (["colour", "red", "blue"], "at least two columns with commas between in .*, got 1"),
    "other separator": (["colour;age", "red;3"], r"is it 2 columns with ';' between\?"),
    "a row too short": (["colour,age,ill", "red,3,no", "red,3"], "Expected 3 cells in every row of .*, got 2 in row 3"),
    "a formula": (["colour,age,ill", "red,=1+1,no"], "got a formula in row 2"),
    "the same name twice": (["colour,colour,ill", "red,3,no"], "columns' names in .* that differ"),
    "an open quote": (["colour,age,ill", 'red,"3,no'], "one that cannot be read"),
    "one row": (["colour,age,ill", "red,3,no"], "at least 2 rows"),
    "a column gone": (["colour,years,ill", "red,3,no", "red,4,no"], "got none called age"),
}


@pytest.mark.parametrize("case", BAD, ids=list(BAD))
def test_a_bad_file_gets_one_sentence(case: str, tmp_path: Path) -> None:
    lines, sentence = BAD[case]
    with pytest.raises(WorkbenchError, match=sentence):
        datasets.load(write(tmp_path, *lines), declared=DECLARED)


def test_mixed_encodings_missing_files_and_declarations_are_sentences(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("colour,age,ill\nrosé,3,no\n".encode() + "rosé,4,no\n".encode("latin-1"))
    with pytest.raises(WorkbenchError, match="Expected UTF-8 text"):
        datasets.load(tmp_path / "latin.csv", declared=DECLARED)
    with pytest.raises(WorkbenchError, match="No such file"):
        datasets.facts(tmp_path / "gone.csv", declared=DECLARED)
    with pytest.raises(WorkbenchError, match=r"`workbench declare people\.csv` proposes one"):
        datasets.facts(people(tmp_path))
    for text, sentence in (
        ("{", "as JSON"),
        ("nowhere.json", "cannot be read"),
        ('{"columns": []}', "columns"),
        ('{"rows": 1}', "columns"),
    ):
        with pytest.raises(WorkbenchError, match=sentence):
            TableDeclaration.parse(text)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ({"name": "a"}, "got none"),
        ({"name": "a", "categories": ["x"], "edges": [0, 1]}, "got both"),
        ({"name": "a", "categories": ["x", "x"]}, "that differ"),
        ({"name": "a", "edges": [1, 0]}, "rising edges"),
        ({"name": "a", "edges": [0, 1], "points": [1, 0]}, "rising points of a, got 1, 0"),
        ({"name": "a", "categories": ["x"], "points": [0]}, "edges of a beside its points"),
        ({"name": "a", "categories": [str(number) for number in range(1_001)]}, "at most 1000 of them"),
    ],
)
def test_a_bad_declaration_gets_one_sentence(column: dict[str, object], sentence: str) -> None:
    with pytest.raises(WorkbenchError, match=sentence):
        TableDeclaration.parse(json.dumps({"columns": [column]}))


def test_rows_that_were_made_inert_for_a_spreadsheet_are_read_again(tmp_path: Path) -> None:
    path = write(tmp_path, "-sign,ill", *(f"{('-', '+x', '-1', 'n')[place % 4]},{place % 2}" for place in range(60)))
    (tmp_path / "people.declared.json").write_text(propose(path).text)
    dataset = datasets.load(path)
    TableFile(dataset.train, dataset.facts, {}, numbers=True).write(tmp_path / "made.csv")
    assert (tmp_path / "made.csv").read_text().startswith("'-sign,ill\n'")
    again = datasets.load(tmp_path / "made.csv", declared=propose(path), held_out=path).train
    assert np.array_equal(again.records, dataset.train.records)


def test_a_declaration_of_no_target_and_of_an_unknown_one() -> None:
    assert DECLARED.model_copy(update={"target": ""}).kind.categories == (4, 4, 2)
    with pytest.raises(ValueError, match="Unknown target column 'sick'"):
        TableDeclaration(columns=DECLARED.columns, target="sick")


def test_a_proposal_reads_its_own_file(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    lines = [f"{draw.choice(['a', 'b', ''])},{draw.normal(50, 9):.3f},{draw.integers(0, 3)}" for _ in range(200)]
    path = write(tmp_path, "group,size,ill", *lines)
    declaration = propose(path)
    assert [column.name for column in declaration.columns] == ["group", "size", "ill"]
    assert (declaration.target, declaration.columns[0].missing, len(declaration.columns[1].edges)) == ("ill", "missing", 6)
    assert declaration.columns[2].categories == ("0", "1", "2")
    assert propose(path, "group", ["size"]).kind.categories == (3,)
    (tmp_path / "people.declared.json").write_text(declaration.text)
    assert datasets.load(path).facts.classes == ("0", "1", "2")
    assert DatasetRef.parse(path).declared == declaration


def test_a_column_that_names_the_rows_is_not_proposed(tmp_path: Path) -> None:
    path = write(tmp_path, "id,ill", *(f"person {number % 31},no" for number in range(60)))
    with pytest.raises(WorkbenchError, match="got 31 different texts in 60 rows: they name the rows"):
        propose(path)
    with pytest.raises(WorkbenchError, match="got 31 different texts in 60 rows: they name the rows"):
        propose(path, "id")
    lines = [f"person {number},{1000 + number},{number * 1.5 + 0.25},{number % 3}" for number in range(60)]
    proposed = proposal(write(tmp_path, "id,customer,weight,visits", *lines), "visits")
    assert [column.name for column in proposed.declaration.columns] == ["weight", "visits"], "a measurement may be different in every row"
    assert proposed.left_out.keys() == {"id", "customer"}
    assert "another whole number in each of 60 rows: they name the rows" in proposed.left_out["customer"]
    assert len(propose(write(tmp_path, "id,ill", *(f"person {number % 31},no" for number in range(62)))).columns) == 2


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d %H:%M", "%Y-%m-%dT%H:%M:%S"])
def test_a_column_of_dates_is_left_out_with_what_to_do(tmp_path: Path, form: str) -> None:
    begin = datetime(2024, 1, 1, 8)
    lines = [f"{(begin + timedelta(days=place // 3)).strftime(form)},{place % 4},{place % 2}" for place in range(90)]
    proposed = proposal(write(tmp_path, "day,visits,ill", *lines))
    assert [column.name for column in proposed.declaration.columns] == ["visits", "ill"]
    assert proposed.left_out["day"].startswith("Expected categories or numbers in the column 'day', got dates. Put what matters of them")


def test_a_hundred_thousand_categories_get_one_sentence(tmp_path: Path) -> None:
    path = write(tmp_path, "id,ill", *(f"person {number},no" for number in range(100_000)))
    with pytest.raises(WorkbenchError, match="at most 1000 categories in the column 'id', got 100000"):
        propose(path)


def test_a_heap_is_a_category_of_its_own_and_what_is_skewed_gets_logarithmic_or_round_edges() -> None:
    gains = {0.0: 900} | {float(value): 1 for value in (114, 594, 2174, 3103, 5178, 7298, 7688, 15024, 27828, 99999)} | {7689.0: 90}
    edges, points = suited_ranges(gains)
    assert points == (0.0,)
    assert edges[0] == 100.0
    assert edges[-1] == 100_000.0
    assert {1000.0, 5000.0, 10_000.0, 20_000.0, 50_000.0} <= set(edges)
    weeks = {float(hours): 3 for hours in range(1, 100)} | {40.0: 400}
    assert suited_ranges(weeks) == ((0.0, 20.0, 40.0, 60.0, 80.0, 100.0), (40.0,))
    edges, points = suited_ranges({0.0: 50} | {0.35 + place / 100: 1 for place in range(50)})
    assert points == (0.0,)
    assert edges[0] <= 0.35 < 0.84 <= edges[-1]
    below = suited_ranges({float(value): 1 for value in range(-30, 0)} | {float(value): 500 for value in range(1, 4)} | {900.0: 1})
    assert below.points == (1.0, 2.0, 3.0)
    assert all(low < high for low, high in itertools.pairwise(below.edges))
    assert below.edges[0] <= -30 < 900 <= below.edges[-1]


def test_what_is_skewed_on_both_sides_of_0_is_cut_there_in_logarithmic_steps() -> None:
    draw = np.random.default_rng(0)
    amounts = np.exp(draw.normal(8, 1.4, 3_000)) * np.where(draw.random(3_000) < 0.05, -1, 1)
    edges, points = suited_ranges(dict.fromkeys(amounts.tolist(), 1))
    assert points == ()
    assert {-1000.0, 0.0, 1000.0, 10_000.0, 100_000.0} <= set(edges)
    assert all(low < high for low, high in itertools.pairwise(edges))
    assert edges[0] <= amounts.min() < amounts.max() <= edges[-1]
    assert shares_between(edges, dict.fromkeys(amounts.tolist(), 1)).max() < 0.3
    from_0 = suited_ranges(dict.fromkeys([0.0, *np.exp(draw.normal(5, 1.5, 300)).tolist()], 1))
    assert from_0.edges[0] == 0.0 < from_0.edges[1] < 100


def test_numbers_that_are_all_heaps_are_categories() -> None:
    column = propose_column("discount", {"0": 60, "5": 20, "10": 20, "50": 20, "": 3})
    assert (column.categories, column.edges, column.missing) == (("0", "5", "10", "50"), (), "missing")


@pytest.mark.parametrize(
    ("size", "decimals", "shown"),
    [
        ("{:.1f}", 1, r"\d+\.\d"),
        ("{:.0f}", None, r"\d+"),
        ("{:.12f}", 5, r"\d+\.\d{5}"),  # eight digits in all
        ("{:.3e}", 1, r"\d+\.\d"),
    ],
)
def test_numbers_leave_with_the_decimals_that_the_file_has(tmp_path: Path, size: str, decimals: int | None, shown: str) -> None:
    draw = np.random.default_rng(0)
    path = write(tmp_path, "size,ill", *(f"{size.format(value)},{place % 2}" for place, value in enumerate(draw.normal(170, 9, 300))))
    declared = propose(path)
    (column, _) = declared.columns
    assert column.decimals == decimals
    assert all(edge.is_integer() for edge in column.edges)
    dataset = datasets.load(path, declared=TableDeclaration.parse(declared.text))
    TableFile(dataset.train, dataset.facts, {}, numbers=True).write(tmp_path / "numbers.csv")
    left = pd.read_csv(tmp_path / "numbers.csv", dtype=str)["size"]
    assert left.str.fullmatch(shown).all()
    assert np.array_equal(column.category_numbers(left.tolist(), ""), dataset.train.records[:, 0]), "each in its range"
    assert str(numbers_of(left.tolist(), column.column).type) == ("int64" if decimals is None else "double")


def test_decimals_are_those_that_edges_need_too() -> None:
    assert decimals_of(["1e-10", "9.5e-10"], (0.0, 5e-10, 1e-9)) == 11
    assert decimals_of(["1", "2"], (0.5, 2.5)) == 1
    assert decimals_of(["1", "2"], (0.0, 4.0)) is None
    assert decimals_of(["123456789.25"], (1e8, 2e8)) is None, "whole, as eight digits leave none behind the point"
    with pytest.raises(ValueError, match=r"edges of size with at most 1 decimals, got 0, 0\.25"):
        DeclaredColumn(name="size", edges=(0.0, 0.25), decimals=1)


@pytest.mark.parametrize(
    ("numbers", "heap"),
    [
        ([0] * 80 + list(range(100, 120)), "0"),  # many whole numbers
        ([0] * 80 + [8, 9, 50, 60] * 5, "0"),  # few counts that lie far apart
        ([0.0] * 80 + [place / 8 for place in range(1, 31)], "0"),
        ([-9.5] * 60 + [place / 8 - 20 for place in range(1, 171)], "-9.5"),  # in the middle of the range, below 0
        ([0.1] * 50 + [place / 7 for place in range(100)], "0.1"),
        ([0] * 60 + list(range(1, 25)) * 20, "0"),  # where a range begins
    ],
)
def test_the_number_of_a_heap_leaves_as_it_came_and_no_other_takes_its_place(tmp_path: Path, numbers: list[float], heap: str) -> None:
    path = write(tmp_path, "size,ill", *(f"{number},{place % 2}" for place, number in enumerate(numbers)))
    (column, _) = (declared := propose(path)).columns
    assert float(heap) in column.points
    dataset = datasets.load(path, declared=declared)
    TableFile(dataset.train, dataset.facts, {}, numbers=True).write(tmp_path / "numbers.csv")
    left = pd.read_csv(tmp_path / "numbers.csv", dtype=str)["size"]
    of_heap = column.column.categories.index(heap)
    is_heap = left.to_numpy() == heap
    assert np.array_equal(is_heap, dataset.train.records[:, 0] == of_heap)
    assert is_heap.mean() >= 0.1
    assert column.category_numbers(["-0.0" if heap == "0" else f" {heap}e0 "], "")[0] == of_heap, "however it is written"


def test_ordered_words_are_proposed_in_their_order() -> None:
    assert ordered_words(["high", "Low", "medium"]) == ["Low", "medium", "high"]
    assert ordered_words(["10th", "7th-8th", "1st-4th", "Masters", "11th"]) == ["1st-4th", "7th-8th", "10th", "11th", "Masters"]
    assert ordered_words(["sometimes", "never", "banana"]) == ["banana", "never", "sometimes"]
    assert ordered_words([">50K", "<=50K", "2", "10"]) == ["2", "10", "<=50K", ">50K"]


@pytest.mark.parametrize(("low", "high"), [(0.053, 0.163), (6.98, 28.1), (-3, 977), (143.5, 2501), (10, 10.5)])
def test_proposed_edges_are_round_and_hold_all(low: float, high: float) -> None:
    edges = round_edges(low, high)
    assert len(edges) == 6
    assert edges[0] <= low < high <= edges[-1]
    assert np.ptp(np.diff(edges)) < 1e-9 * edges[-1]
    assert float(f"{edges[1] - edges[0]:.2g}") == pytest.approx(edges[1] - edges[0])


def test_edges_of_large_numbers_that_lie_close_differ_in_their_last_digits() -> None:
    edges = round_edges(1e16, 1e16 + 58)
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= 1e16 < 1e16 + 58 <= edges[-1]
    for low, high in ((-1.7e308, 1.7e308), (1.0, np.nextafter(1.0, 2.0))):
        with pytest.raises(WorkbenchError, match="too close or too far out"):
            round_edges(low, high)


def test_ranges_of_many_different_numbers_take_a_moment() -> None:
    counts = dict.fromkeys(np.random.default_rng(0).normal(size=200_000).tolist(), 1) | {0.0: 100_000}
    assert suited_ranges(counts).points == (0.0,), "within pytest's own limit: it was a look at all numbers for each"


def test_columns_that_cannot_be_declared_get_one_sentence(tmp_path: Path) -> None:
    path = write(tmp_path, "name,ill", "a\u202eb,no", "c,yes")
    with pytest.raises(WorkbenchError, match=r"can be declared\. Expected categories of name of 1 to 80 printable .*[^.]\.$"):
        propose(path)


def test_whole_numbers_are_the_same_with_a_point_behind_them(tmp_path: Path) -> None:
    lines = [f"{level},{ill}" for level, ill in itertools.product(("1", "1.0", "2", "2.", "", "7"), ("no", "yes"))]
    coded = DeclaredColumn(name="level", categories=("1", "2.0"), missing="none", other="other")
    declared = TableDeclaration(columns=(coded, DECLARED.columns[2]), target="ill")
    dataset = datasets.load(write(tmp_path, "level,ill", *lines), declared=declared)
    counts = np.bincount(dataset.train.followed_by(dataset.held_out).records[:, 0])
    assert counts.tolist() == [4, 4, 2, 2], "1, 2, other and missing: 1.0 is what pandas writes of 1 where a cell is missing"


def test_the_declaration_goes_with_the_place(tmp_path: Path) -> None:
    place = DatasetRef.parse(people(tmp_path), declared=DECLARED.text, split_seed=2)
    assert DatasetRef.model_validate_json(place.model_dump_json()) == place
    assert DatasetRef.parse(place.text, place.account, split_seed=2, declared=place.texts["declared"]) == place
    assert place.load(place.facts()).facts == place.facts()
    with pytest.raises(ValueError, match=r"with a \.csv file"):
        DatasetRef(name="digits", declared=DECLARED)
    with pytest.raises(WorkbenchError, match="from its declaration alone"):
        datasets.facts(tmp_path / "people.csv", (1, 8, 8), declared=DECLARED)


def test_commands_tell_how_far_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.cli.output.QUICK", 0.0)
    monkeypatch.setattr("workbench.cli.output.bar_pace", dict)  # that of a terminal
    path = people(tmp_path)
    ran = CliRunner().invoke(app, ["declare", str(path), "--target", "ill", "--leave-out", "note"], catch_exceptions=False)
    assert "read people.csv 100%" in ran.stderr
    path.with_suffix(".declared.json").write_text(ran.stdout)
    ran = CliRunner().invoke(app, ["plan", "mst", "--dataset", str(path), "--epsilon", "2"], catch_exceptions=False)
    assert "read people 100%" in ran.stderr


def test_a_proposal_has_letters_as_they_are_and_is_read_back(tmp_path: Path) -> None:
    path = write(tmp_path, "Größe,市区", *(f"{row % 2},{'北区' if row % 3 else '南区'}" for row in range(60)), name="people.csv")
    ran = CliRunner().invoke(app, ["declare", str(path)], catch_exceptions=False)
    assert '"name": "Größe"' in ran.stdout
    assert TableDeclaration.parse(ran.stdout) == propose(path)
    ascii_only = CliRunner(charset="ascii").invoke(app, ["declare", str(path)], catch_exceptions=False)
    assert TableDeclaration.parse(ascii_only.stdout) == propose(path)
    assert ascii_only.stdout.isascii()


def test_the_command_proposes_what_the_plan_then_takes(tmp_path: Path) -> None:
    path = people(tmp_path)
    proposed = CliRunner().invoke(app, ["declare", str(path), "--target", "ill", "--leave-out", "note"], catch_exceptions=False)
    assert "made from the private rows" in proposed.stderr
    (tmp_path / "public.json").write_text(proposed.stdout)
    command = ["plan", "mst", "--dataset", str(path), "--declared", str(tmp_path / "public.json"), "--epsilon", "2", "--json"]
    planned = json.loads(CliRunner().invoke(app, command, catch_exceptions=False).stdout)
    assert [column["name"] for column in planned["facts"]["kind"]["columns"]] == ["colour", "age"]
    assert TableDeclaration.model_validate(planned["request"]["dataset"]["declared"]) == TableDeclaration.parse(proposed.stdout)


def test_samples_leave_as_a_csv_that_reads_back(tmp_path: Path) -> None:
    dataset = datasets.load(people(tmp_path), declared=DECLARED)
    TableFile(dataset.train, dataset.facts, {}).write(tmp_path / "rows.csv")
    frame = pd.read_csv(tmp_path / "rows.csv")
    assert list(frame) == ["colour", "age", "ill"], "in the file's order"
    assert set(frame["ill"]) <= {"no", "yes"}
    back = datasets.load(tmp_path / "rows.csv", declared=DECLARED)
    everyone = back.train.followed_by(back.held_out).records
    assert sorted(map(tuple, everyone.tolist())) == sorted(map(tuple, dataset.train.records.tolist())), "ranges and what is missing too"
    TableFile(dataset.train, dataset.facts, {}, numbers=True).write(tmp_path / "numbers.csv")
    ages = pd.read_csv(tmp_path / "numbers.csv", dtype=str)["age"]
    assert [DECLARED.columns[1].category_numbers([age], "")[0] for age in ages] == dataset.train.records[:, 1].tolist()
    assert all(age == "unknown" or age.isdigit() for age in ages), "whole numbers between whole edges"
    with pytest.raises(WorkbenchError, match="Expected rows of a table, got images"):
        TableFile(dataset.train, datasets.facts("digits"), {}).write(tmp_path / "rows.csv")


def test_a_file_that_is_not_there_is_said_to_be_missing_rather_than_undeclared(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="No such file"):
        datasets.load(tmp_path / "none.csv")


def test_columns_leave_in_the_order_of_the_file_whatever_the_declaration_has(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a,class,b\n" + "".join(f"x,{'yes' if i % 2 else 'no'},{i % 3}\n" for i in range(12)))
    declared = TableDeclaration.parse(
        '{"columns": [{"name": "b", "categories": ["0", "1", "2"]}, {"name": "a", "categories": ["x"]}, '
        '{"name": "class", "categories": ["no", "yes"]}], "target": "class"}'
    )
    dataset = datasets.load(path, declared=declared)
    assert dataset.facts == datasets.facts(path, declared=declared)
    TableFile(dataset.train, dataset.facts, {}).write(tmp_path / "rows.csv")
    assert list(pd.read_csv(tmp_path / "rows.csv")) == ["a", "class", "b"]


def test_a_proposal_takes_counts_for_numbers_and_merges_rare_categories(tmp_path: Path) -> None:
    villages = ["Aarau"] * 20 + ["Bern"] * 19 + ["Zell"]
    lines = [f"{village},{(0, 1, 10, 2)[i % 4]},{(0, 1, 10, 2)[i % 4]}" for i, village in enumerate(villages)]
    path = tmp_path / "own.csv"
    path.write_text("village,visits,level\n" + "\n".join(lines) + "\n")
    village, visits, level = propose(path).columns
    assert (village.categories, village.other) == (("Aarau", "Bern"), "other"), "one row names one person"
    assert visits.edges == tuple(float(edge) for edge in range(12))
    assert level.categories == ("0", "1", "2", "10"), "a target keeps its classes, in the order of numbers"
    assert "Zell" not in propose(path).text
    assert len(datasets.load(path, declared=propose(path)).train) > 0


def test_a_column_whose_other_texts_are_unknown_is_told_from_one_of_missing_cells() -> None:
    declared = TableDeclaration(columns=(DeclaredColumn(name="age", edges=(0, 10, 20), other="unknown", missing="missing"),))
    again = TableDeclaration.of_kind(declared.kind, ())
    assert again == declared, "its categories are written in this order, and read as numbers of them"
