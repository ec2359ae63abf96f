"""The papers' tables as shipped: whole, typed, and copied out."""

import math

import pandas as pd

from workbench.published import COLUMNS, load_published


def test_every_row_is_here_with_its_source() -> None:
    frame = load_published()
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 797
    assert frame["source"].ne("").all()
    assert frame["value"].notna().all()
    papers = {"dp-promise 2024", "DP-SAD 2024", "P3DM 2024", "Dockhorn et al. 2023", "Chu et al. 2023"}
    assert set(frame["source"]) == papers | {"DPImageBench README 2026-01-22", "Feta-Pro repository log"}


def test_printed_numbers() -> None:
    frame = load_published("mnist", "accuracy_cnn")
    row = frame[(frame["method"] == "DP-MERF") & (frame["epsilon"] == 1)].iloc[0]
    assert (row["value"], row["delta"], bool(row["public_data"])) == (0.823, "1e-5", False)
    assert math.isinf(frame["epsilon"].max())


def test_a_delta_stands_as_its_source_states_it() -> None:
    benchmark = load_published("fashion-mnist", "accuracy_mean3")
    row = benchmark[(benchmark["method"] == "DP-FETA") & (benchmark["epsilon"] == 10)].iloc[0]
    assert (row["value"], row["delta"]) == (0.873, "1/(n ln n)")
    assert load_published()["delta"].map(type).eq(str).all()


def test_accuracies_are_fractions() -> None:
    frame = load_published()
    accuracies = frame[frame["metric"].str.startswith("accuracy")]["value"]
    assert accuracies.between(0, 1).all()


def test_a_dataset_nobody_published_on_has_no_row() -> None:
    assert load_published("digits").empty


def test_a_caller_cannot_change_the_table() -> None:
    copy = load_published()
    copy["value"] = pd.NA
    assert load_published()["value"].notna().all()
