"""The registry, digits, sizes and public records."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from support.homes import here

from workbench import datasets
from workbench.datasets import DATASETS, faces, glyphs, load_public, processes
from workbench.datasets.resize import axis_weights, convert_channels, resize
from workbench.datasets.splits import held_out_count, position_split
from workbench.errors import WorkbenchError

SHAPE = (1, 8, 8)
WriteFamily = Callable[..., dict[str, str]]


@pytest.mark.parametrize("name", DATASETS)
def test_contract_of_every_dataset(name: str, write_dataset: Callable[[str, Path], object], monkeypatch: pytest.MonkeyPatch) -> None:
    for drawn in (glyphs, processes, faces):
        monkeypatch.setattr(drawn, "DEFAULT_NUM_RECORDS", 200)
    size = (1, 16, 16)
    if name == "celeba-hair":  # how many faces it has, its files alone tell
        write_dataset(name, here().data)
    shape = size if datasets.facts(name).kind.name == "image" else None
    if not DATASETS[name].is_local(here()):
        assert datasets.facts(name, shape).num_records >= 30_000, "plans need no file"
        write_dataset(name, here().data)
    facts, dataset = datasets.facts(name, shape), datasets.load(name, shape)
    assert facts == dataset.facts
    assert (facts.name, facts.shape) == (name, shape or facts.shape)
    facts.check(dataset.train)
    for records in (dataset.train, dataset.held_out):
        assert facts.kind.complaint(records.records) == ""
        assert records.records.shape == (len(records), *facts.shape)
        assert set(records.attributes) == set(facts.attributes)
        if not facts.classes or not len(records):
            continue
        assert records.labels is not None
        assert records.labels.dtype == np.int64
        assert np.unique(records.labels).tolist() == list(range(facts.num_classes))
    assert dataset.fingerprint(here().key) == datasets.load(name, shape).fingerprint(here().key)


def test_digits_are_scikit_learns_split_1500_297() -> None:
    dataset = datasets.load("digits")
    assert (len(dataset.train), len(dataset.held_out)) == (1500, 297)
    bundled = np.sort([image.tobytes() for image in np.rint(load_digits(return_X_y=True)[0] * 255 / 16).astype(np.uint8)])
    ours = np.sort([image.tobytes() for image in (*dataset.train.records, *dataset.held_out.records)])
    np.testing.assert_array_equal(ours, bundled)
    assert dataset.train.labels is not None
    assert dataset.held_out.labels is not None
    shares = np.bincount(dataset.train.labels) / 1500 - np.bincount(dataset.held_out.labels) / 297
    assert np.abs(shares).max() < 0.003


def test_permuted_digits_are_digits_in_one_other_order_of_pixels() -> None:
    known, permuted = datasets.load("digits"), datasets.load("permuted-digits")
    for before, after in ((known.train, permuted.train), (known.held_out, permuted.held_out)):
        values, moved = before.records.reshape(len(before), -1), after.records.reshape(len(after), -1)
        order = [int(np.flatnonzero((values == column[:, None]).all(0))[0]) for column in moved.T if column.any()]
        assert len(set(order)) == len(order) > 50, "one pixel each, whichever the image"
        assert order != sorted(order)
        np.testing.assert_array_equal(np.sort(values), np.sort(moved))
        np.testing.assert_array_equal(before.labels, after.labels)


def test_settings_are_chosen_on_training_records_alone() -> None:
    known, choosing = datasets.load("digits"), datasets.load("digits-validation")
    assert choosing.facts == datasets.facts("digits-validation")
    assert choosing.facts.num_records == len(choosing.train) == 1200
    together = np.concatenate([choosing.train.records, choosing.held_out.records])
    np.testing.assert_array_equal(together, known.train.records)
    assert choosing.train.labels is not None
    np.testing.assert_array_equal(choosing.train.labels, known.train.labels[:1200])
    assert [datasets.facts(f"{name}-validation").num_records for name in ("mnist", "fashion-mnist")] == [55_000, 55_000]
    assert datasets.DATASETS["mnist-validation"].summary.startswith(
        "Training records alone, to choose settings: the last 1 in 12 is held out, unprotected."
    )


def test_unknown_name_lists_the_choices() -> None:
    with pytest.raises(WorkbenchError, match=r"Unknown dataset 'digitz'\. Choose one of: digits, mnist, fashion-mnist, cifar-10"):
        datasets.load("digitz")


@given(st.integers(2, 200), st.integers(0, 5))
def test_split_is_a_partition_made_from_number_and_seed_alone(num_places: int, seed: int) -> None:
    train, held_out = position_split(num_places, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, held_out])), np.arange(num_places))
    assert len(held_out) == held_out_count(num_places) >= 1
    assert len(train) >= 1


@pytest.mark.parametrize(("number", "expected"), [(2, 1), (24, 4), (60, 10)])
def test_a_sixth_is_held_out(number: int, expected: int) -> None:
    assert held_out_count(number) == expected


@given(st.integers(1, 40), st.integers(1, 40))
def test_axis_weights_average(source: int, target: int) -> None:
    weights = axis_weights(source, target)
    assert weights.shape == (target, source)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(weights, weights[::-1, ::-1], atol=1e-5)  # mirrored images stay mirrored
    if target < source:
        np.testing.assert_allclose(weights.sum(axis=0), target / source, rtol=1e-4)  # every pixel counts alike


def test_resize_by_hand() -> None:
    image = np.array([[0, 2, 10, 20], [4, 6, 30, 40]], dtype=np.uint8)[None, None]
    assert resize(image, (1, 1, 2)).tolist() == [[[[3, 25]]]]
    assert resize(np.array([[[[0, 100]]]], dtype=np.uint8), (1, 1, 4)).tolist() == [[[[0, 25, 75, 100]]]]
    assert resize(image, (1, 2, 4)) is image


def test_channels() -> None:
    colour = np.array([255, 0, 100], dtype=np.uint8).reshape(1, 3, 1, 1)
    assert convert_channels(colour, 1).item() == round(0.299 * 255 + 0.114 * 100)
    grey = convert_channels(np.full((1, 1, 1, 1), 7, dtype=np.uint8), 3)
    assert grey.ravel().tolist() == [7, 7, 7]


@pytest.mark.parametrize("shape", [(2, 8, 8), (8, 8), (1, 0, 8), (1, 8, 5000)])
def test_impossible_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(WorkbenchError, match="Expected a shape C,H,W"):
        datasets.load("digits", shape)
    with pytest.raises(WorkbenchError, match="Expected a shape C,H,W"):
        datasets.facts("digits", shape)


def test_public_glyphs_at_the_targets_shape() -> None:
    dataset = load_public("glyphs", (3, 10, 12), num_records=30, seed=2)
    assert dataset.train.records.shape == (30, 3, 10, 12)
    assert dataset.facts.is_public


def test_private_records_are_public_only_by_declaration(write_family: WriteFamily) -> None:
    with pytest.raises(WorkbenchError, match="Expected a public dataset, got 'mnist'"):
        load_public("mnist", SHAPE)
    write_family(here().data / "mnist")
    dataset = load_public("mnist", (3, 8, 8), num_records=20, declared_public=True)
    assert dataset.facts.is_public
    assert dataset.train.records.shape == (20, 3, 8, 8)
    assert dataset.facts.num_records == 20
    assert not datasets.facts("mnist").is_public


def test_more_public_records_than_there_are(write_family: WriteFamily) -> None:
    write_family(here().data / "mnist")
    with pytest.raises(WorkbenchError, match="Expected 1 to 30 public records, got 31"):
        load_public("mnist", SHAPE, num_records=31, declared_public=True)


def test_class_names_from_text() -> None:
    assert datasets.reading_arguments(None, None, "cat, dog")["classes"] == ("cat", "dog")
    assert datasets.reading_arguments(None, None, '["cat, black", "dog"]')["classes"] == ("cat, black", "dog")


@pytest.mark.parametrize("text", ["[cat", "[1, 2]", '[["cat"], "dog"]', "[]x"])
def test_what_is_no_list_of_class_names_is_one_sentence(text: str) -> None:
    with pytest.raises(WorkbenchError, match="Expected class names between commas, or a JSON list"):
        datasets.reading_arguments(None, None, text)
