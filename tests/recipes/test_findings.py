"""What runs say of an expected difference, against SciPy's paired test, least squares and numbers worked out by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

from workbench.recipes.directions import Comparison, Direction
from workbench.recipes.findings import Finding, findings, residual_deviation

A, B, C = (0.9, 0.8, 0.7), (0.6, 0.65, 0.45), (0.5, 0.42, 0.36)


def results(**lines: Sequence[float]) -> list[dict[str, Any]]:
    """A result a value, at seeds 0, 1, ..."""
    return [result(name, seed, value) for name, values in lines.items() for seed, value in enumerate(values)]


def result(name: str, seed: int, value: float | str | None) -> dict[str, Any]:
    return {"name": name, "seed": seed, "evaluation": {"results": [{"name": "score", "value": value}]}}


def said(higher: str | tuple[str, ...], lower: str | tuple[str, ...]) -> Direction:
    names = {"higher": tuple(higher), "lower": tuple(lower)}
    return Direction(says="one is higher", source="Table 1", measure="score", **names)


def compared(measured: Sequence[Mapping[str, Any]], *directions: Direction) -> list[Finding]:
    return findings(Comparison(question="Which?", directions=directions), measured)


def test_two_lines_are_the_paired_t_test() -> None:
    (finding,) = compared(results(a=A, b=B), said("a", "b"))
    interval = ttest_rel(A, B).confidence_interval(0.95)
    assert finding.difference == pytest.approx(0.7 / 3)
    assert finding.interval == pytest.approx((interval.low, interval.high))
    error = np.std(np.subtract(A, B), ddof=1) / 3**0.5
    assert finding.smallest == pytest.approx((4.302653 + 1.060660) * error, rel=1e-6)
    assert (finding.seeds, finding.verdict) == (3, "agrees")


def test_a_direction_read_the_other_way_disagrees_and_noise_cannot_tell() -> None:
    turned, noise = compared(results(a=A, b=B), said("b", "a"))[0], compared(results(a=A, b=(0.6, 0.9, 0.6)), said("a", "b"))[0]
    assert (turned.verdict, turned.difference) == ("disagrees", pytest.approx(-0.7 / 3))
    assert noise.verdict == "can't tell"


def test_the_deviation_is_that_of_least_squares_on_lines_and_seeds() -> None:
    values = {name: dict(enumerate(row)) for name, row in (("a", A), ("b", B), ("c", C))}
    observed = np.array([A, B, C]).ravel()
    design = np.array([[*np.eye(3)[line], *np.eye(3)[seed]] for line in range(3) for seed in range(3)])
    fitted = design @ np.linalg.lstsq(design, observed, rcond=None)[0]
    deviation, freedom = residual_deviation(values, [0, 1, 2])
    assert freedom == 4
    assert deviation == pytest.approx(np.sqrt(((observed - fitted) ** 2).sum() / 4))


def test_means_of_several_lines_are_compared_and_differences_share_the_level() -> None:
    measured = results(a=A, b=B, c=C)
    both, _ = compared(measured, said("a", ("b", "c")), said("b", "c"))
    deviation, _ = residual_deviation({name: dict(enumerate(row)) for name, row in (("a", A), ("b", B), ("c", C))}, [0, 1, 2])
    error = deviation * (1.5 / 3) ** 0.5
    assert both.difference == pytest.approx(np.mean(A) - np.mean([B, C]))
    assert both.interval is not None
    assert both.difference is not None
    assert both.interval[1] - both.difference == pytest.approx(t.ppf(1 - 0.05 / 4, 4) * error)


def test_what_a_seed_does_to_all_lines_does_not_count() -> None:
    plain = compared(results(a=A, b=B), said("a", "b"))[0]
    moved = compared(results(a=np.add(A, (0.0, 5.0, -3.0)).tolist(), b=np.add(B, (0.0, 5.0, -3.0)).tolist()), said("a", "b"))[0]
    assert moved.interval == pytest.approx(plain.interval)


def test_seeds_that_a_line_lacks_are_left_out_and_one_seed_shows_nothing() -> None:
    partly = [*results(a=A, b=B[:2]), result("b", 2, None), result("a", 3, "inf")]
    (finding,) = compared(partly, said("a", "b"))
    assert (finding.seeds, finding.difference) == (2, pytest.approx(0.225))
    (nothing,) = compared(results(a=A, b=B[:1]), said("a", "b"))
    assert (nothing.verdict, nothing.interval, nothing.smallest) == ("not measured", None, None)
    assert (nothing.seeds, nothing.difference) == (1, pytest.approx(A[0] - B[0]))
    assert compared([], said("a", "b"))[0].seeds == 0


def test_lines_that_no_direction_names_are_not_pooled() -> None:
    assert compared(results(a=A, b=B, c=C), said("a", "b")) == compared(results(a=A, b=B), said("a", "b"))


def test_lines_compared_in_another_measure_alone_are_not_pooled() -> None:
    other = Direction(says="c is higher", source="Table 2", measure="another", higher=("c",), lower=("a",))
    assert Comparison(question="Which?", directions=(said("a", "b"), other)).pooled_lines("score") == ("a", "b")
