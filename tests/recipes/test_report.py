"""The table and the picture of a recipe."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from workbench.recipes.picture import add_legend, draw
from workbench.recipes.picture_of_many import rows_of_methods
from workbench.recipes.report import Line, by_features, is_below_floor, markdown_table, measured_lines, summary_rows

MEASURE = "accuracy_logistic_regression"


def result(name: str, bound: float | str, value: float, epsilon_zero: float | None, seconds: float) -> dict[str, Any]:
    entry = {"name": MEASURE, "value": value, "epsilon_zero": epsilon_zero, "ceiling": 0.95}
    values = {"name": name, "method": name.split(",")[0], "claim": {"epsilon": "inf"}, "seconds": seconds}
    values |= {"bound": {"epsilon": bound, "delta": 1e-5}, "seed": round(100 * (epsilon_zero or 0)), "run": "abcd2345"}
    return values | {"evaluation": {"results": [entry]}}


RESULTS = [
    result("nonprivate", "inf", 0.9, None, 60),
    result("a, bound 1", 0.999, 0.7, 0.6, 10),
    result("a, bound 1", 0.999, 0.8, 0.62, 14),
]


def test_the_table_gives_mean_spread_and_both_references() -> None:
    rows = markdown_table({MEASURE: measured_lines(RESULTS, MEASURE)}).splitlines()
    assert rows[2].startswith("| real training data (ceiling) | - | - | 0.950 (private) |")
    assert "| 0.610 ± 0.014 (private) |" in rows[3]
    assert rows[4] == "| nonprivate | none | none | 0.900 (private) | 60 |"
    assert rows[5] == "| a, bound 1 | none | 0.999 | 0.750 ± 0.071 (private) | 10 to 14 |"
    assert rows[7] == "Bounds hold at delta 1e-05."


def test_lines_of_one_seed_share_their_public_model() -> None:
    other = [{**entry, "name": "a, bound 9"} for entry in RESULTS[1:]]
    rows = markdown_table({MEASURE: measured_lines(RESULTS + other, MEASURE)}).splitlines()
    assert "| 0.610 ± 0.014 (private) |" in rows[3]
    unseeded = [{**entry, "seed": None, "run": f"run{number}"} for number, entry in enumerate(RESULTS[1:] + other)]
    rows = markdown_table({MEASURE: measured_lines(unseeded, MEASURE)}).splitlines()
    assert "| 0.610 ± 0.012 (private) |" in rows[3]  # four models: sqrt(4 * .01^2 / 3)


def test_each_public_model_has_its_row_and_is_never_averaged_with_another() -> None:
    other = [result("b, bound 1", 0.999, 0.7, 0.6, 10) | {"seed": 60}, result("b, bound 1", 0.999, 0.7, 0.9, 10) | {"seed": 62}]
    alike = [{**entry, "name": "c, bound 1", "method": "c"} for entry in RESULTS[1:]]
    rows = markdown_table({MEASURE: measured_lines(RESULTS + other + alike, MEASURE)}).splitlines()
    assert rows[3].startswith("| epsilon 0: public data of a, c | 0 | 0 | 0.610 ± 0.014")
    assert rows[4].startswith("| epsilon 0: public data of b | 0 | 0 | 0.750 ± 0.212")


def test_a_line_worse_than_the_floor_at_its_bound_is_marked() -> None:
    floor = [result("class-moments, bound 1", 0.998, value, None, 1) for value in (0.72, 0.8)]
    other = [result("class-moments, bound 9", 8.99, 0.99, None, 1), result("b, bound 1", 0.999, 0.765, None, 1)]
    lines = measured_lines([*RESULTS, *floor, *other], MEASURE)
    marked = [row.split("|")[1].strip() for row in markdown_table({MEASURE: lines}).splitlines() if "below the floor" in row]
    assert marked == ["a, bound 1"]
    assert below_floor(lines, measure="frechet_distance") == ["b, bound 1"], "less is better"
    assert below_floor(lines, measure="privacy_score") == [], "what copies less is not worse"
    floors = [line for line in lines if line.method == "class-moments"]
    others = [line.model_copy(update={"features": "pixels"}) for line in lines if line not in floors]
    assert below_floor([*floors, *others]) == [], "which was measured in other features"


def below_floor(lines: list[Line], **changes: str) -> list[str]:
    changed = [line.model_copy(update=changes) for line in lines]
    return [line.name for line in changed if is_below_floor(line, changed)]


def test_measures_stand_in_columns_of_one_table() -> None:
    lines = measured_lines(RESULTS, MEASURE)
    distances = [line.model_copy(update={"values": (3.0,), "epsilon_zero": (), "ceiling": (2.0,)}) for line in lines[1:]]
    rows = [row.split(" | ") for row in markdown_table({MEASURE: lines, "frechet_distance": distances}).splitlines()[:6]]
    assert rows[0][3:] == [MEASURE, "frechet_distance", "seconds to train |"]
    assert [row[4] for row in rows[2:]] == ["2.000 (private)", "not given", "-", "3.000 (private)"]
    assert [row[3] for row in rows[4:]] == ["0.900 (private)", "0.750 ± 0.071 (private)"]


def test_lines_in_different_features_stand_in_columns_of_their_own() -> None:
    first, second = (line.model_copy(update={"features": name}) for line, name in zip(measured_lines(RESULTS, MEASURE), "pq", strict=True))
    assert by_features([first, first]) == {MEASURE: [first, first]}
    assert by_features([first, second]) == {f"{MEASURE} in p": [first], f"{MEASURE} in q": [second]}
    rows = [row.split(" | ") for row in markdown_table(by_features([first, second])).splitlines()]
    assert [row[3:5] for row in rows if "nonprivate" in row[0]] == [["0.900 (private)", "-"]]


@pytest.mark.parametrize("count", [2, 9])
def test_each_of_many_bounds_has_a_colour(count: int) -> None:
    results = [result(f"{name}, bound {bound}", bound, 0.9, None, 1) for name in "abcdefg" for bound in [*range(1, count), "inf"]]
    legend = rows_of_methods({MEASURE: measured_lines(results, MEASURE)}, "Many").legends[0]
    shown = [(text.get_text(), handle.get_color()) for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)][:count]  # type: ignore[union-attr]
    assert [text for text, _ in shown] == ["no bound", *(f"bound {bound}" for bound in range(count - 1, 0, -1))]
    assert len({colour for _, colour in shown}) == count


def test_many_methods_have_a_row_each_in_order_and_hollow_points_below_the_floor() -> None:
    names = ["class-moments", "best", "worst", *"cdef"]
    values = [0.8, 0.9, 0.6, 0.85, 0.84, 0.83, 0.82]
    results = [result(f"{name}, bound 1", 0.999, value, 0.5, 1) for name, value in zip(names, values, strict=True)]
    figure = rows_of_methods({MEASURE: measured_lines(results, MEASURE)}, "Many")
    accuracy, claim, seconds = figure.axes
    assert [label.get_text() for label in accuracy.get_yticklabels()] == ["best", *"cdef", "class-moments", "worst"]
    points = {float(cloud.get_offsets()[0][1]): cloud for cloud in accuracy.collections}  # type: ignore[index]
    assert [row for row, cloud in points.items() if not len(cloud.get_facecolors())] == [6.0], "only the last is below the floor"  # type: ignore[attr-defined]
    assert {line.get_xdata()[0] for line in accuracy.lines if len(line.get_ydata()) == 2 and line.get_ydata()[1] == 1} >= {0.8, 0.5, 0.95}  # type: ignore[index]
    assert (len(claim.collections), len(seconds.collections)) == (0, 7), "no claim is finite"


def test_rows_for_the_terminal_have_the_means_of_both_references() -> None:
    rows = summary_rows(RESULTS)
    assert [(row["line"], row["runs"], row["spread"] is None) for row in rows] == [("nonprivate", 1, True), ("a, bound 1", 2, False)]
    assert [row["epsilon 0"] for row in rows] == [None, pytest.approx(0.61)]
    assert rows[1]["ceiling"] == pytest.approx(0.95)


def test_a_measure_that_was_not_taken_has_no_line() -> None:
    assert measured_lines(RESULTS, "frechet_distance") == []


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    draw({"": measured_lines(RESULTS, MEASURE)}, tmp_path / "picture.png", "Title", MEASURE)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


LONG = "epsilon 0: public data of selective-pretraining (0.714, private)"


@pytest.mark.parametrize("labels", [["a"], ["short"] * 9, [LONG] * 4 + ["b"] * 7])
def test_a_legend_lies_within_the_picture_and_leaves_the_axes_their_height(labels: list[str]) -> None:
    figure = Figure(figsize=(7.2, 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for label in labels:
        axes.plot([0, 1], label=label)
    add_legend(figure, labels)
    figure.draw_without_rendering()
    legend, page = figure.legends[0].get_window_extent(), figure.bbox
    assert page.x0 <= legend.x0 < legend.x1 <= page.x1
    assert page.y0 <= legend.y0
    assert legend.y1 < axes.get_window_extent().y0
    assert axes.get_window_extent().height > 2.5 * 150


def test_a_measure_that_no_line_took_is_an_empty_picture(tmp_path: Path) -> None:
    draw({"": []}, tmp_path / "picture.png", "Title", MEASURE)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_title_is_text_and_no_formula(tmp_path: Path) -> None:
    lines = [line.model_copy(update={"method": "$x_{$"}) for line in measured_lines(RESULTS, MEASURE)]
    draw({"": lines}, tmp_path / "picture.png", r"costs $5 and $\frac{", MEASURE)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_two_public_models_of_one_method_are_named_by_their_lines() -> None:
    other = [{**result("a, bound 9", 8.99, 0.9, 0.7, 10), "seed": entry["seed"]} for entry in RESULTS[1:]]
    rows = markdown_table({MEASURE: measured_lines(RESULTS + other, MEASURE)}).splitlines()
    assert [row.split("|")[1].strip() for row in rows[3:5]] == [
        "epsilon 0: public data of a, bound 1",
        "epsilon 0: public data of a, bound 9",
    ]
