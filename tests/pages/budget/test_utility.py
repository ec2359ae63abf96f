"""Measures on the chart of utility against epsilon: what each is called there, and on which scale it stands."""

from dataclasses import replace

import pytest

from workbench.evaluation import METRICS
from workbench.pages.budget.utility import is_fraction, measure_title
from workbench.published import load_published


def test_a_measure_has_its_title_and_scale_from_its_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        METRICS, "coverage", replace(METRICS["kernel_distance"], name="coverage", title="Coverage", unit="", is_fraction=True)
    )
    assert measure_title("coverage") == "Coverage"
    assert is_fraction("coverage")


def test_features_and_unit_stand_where_a_value_depends_on_them() -> None:
    assert measure_title("kernel_distance", ["pixels"]) == "Kernel distance (pixels; squared kernel distance)"
    assert measure_title("accuracy_cnn", ["pixels"]) == "Accuracy, CNN"
    assert measure_title("nearer_to_training", ["pixels"]) == "Nearer to training (pixels)"


def test_what_only_papers_have_printed_has_a_title_too() -> None:
    printed = sorted(set(load_published()["metric"]) - METRICS.keys())
    assert [measure_title(name) for name in printed][-2:] == ["FID, Inception features (published)", "PAC noise norm (published)"]
    assert [is_fraction(name) for name in printed] == [name.startswith("accuracy_") for name in printed]
