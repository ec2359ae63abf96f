"""Numbers as a reader wants them."""

import math

import pytest

from workbench.ui.formats import counted, deviations, duration, memory, number, words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (math.nan, "–"), (math.inf, "∞"), (-math.inf, "−∞"), (0.0, "0"), (9.94321, "9.94"), (0.00033333, "3.33×10⁻⁴"),
        (1e-5, "1×10⁻⁵"), (12345.6, "12,346"), (2.5e7, "2.5×10⁷"), (0.5, "0.5"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.25, "0.2 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (math.inf, "–")],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_memory() -> None:
    assert [memory(value) for value in (None, 300 * 2**10, 2**20, 1.5 * 2**30)] == ["–", "300 KiB", "1 MiB", "1.5 GiB"]


def test_one_of_a_thing_is_singular() -> None:
    assert [counted(amount, "run") for amount in (0, 1, 2, 1200)] == ["0 runs", "1 run", "2 runs", "1,200 runs"]
    assert [deviations(mu) for mu in (1.0, 0.5, 1.01)] == ["1 standard deviation", "0.5 standard deviations", "1.01 standard deviations"]


def test_words() -> None:
    assert words("noise_multiplier") == "Noise multiplier"
    assert words("phase_two.noise_multiplier") == "Phase two: noise multiplier"
