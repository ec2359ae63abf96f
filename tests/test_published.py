"""The papers' tables as shipped: whole, typed, and copied out."""

import math

import pandas as pd

from workbench.published import COLUMNS, load_published, published_datasets


def test_every_row_is_here_with_its_source() -> None:
    frame = load_published()
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 504
    assert frame["source"].ne("").all()
    assert frame["value"].notna().all()
    assert set(frame["source"]) == {"dp-promise 2024", "DP-SAD 2024", "P3DM 2024", "Dockhorn et al. 2023", "Chu et al. 2023"}


def test_printed_numbers() -> None:
    frame = load_published("mnist", "accuracy_cnn")
    row = frame[(frame["method"] == "DP-MERF") & (frame["epsilon"] == 1)].iloc[0]
    assert (row["value"], row["delta"], bool(row["public_data"])) == (0.823, 1e-5, False)
    assert math.isinf(frame["epsilon"].max())


def test_accuracies_are_fractions() -> None:
    frame = load_published()
    accuracies = frame[frame["metric"].str.startswith("accuracy")]["value"]
    assert accuracies.between(0, 1).all()


def test_a_dataset_nobody_published_on_has_no_row() -> None:
    assert load_published("digits").empty
    assert "digits" not in published_datasets()
    assert "mnist" in published_datasets()


def test_a_caller_cannot_change_the_table() -> None:
    copy = load_published()
    copy["value"] = pd.NA
    assert load_published()["value"].notna().all()
