"""Requests: one normal form, one canonical text."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here

from workbench.datasets import DATASETS, Dataset, DatasetEntry, facts, load
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.planning import make_plan
from workbench.records import Records
from workbench.request import Request


def own_file(folder: Path, name: str = "digits.npz", images: int = 24) -> Path:
    """A file of the user's own."""
    draw = np.random.default_rng(0)
    np.savez(folder / name, images=draw.integers(0, 256, (images, 8, 8, 1), dtype=np.uint8), labels=np.arange(images) % 2)
    return folder / name


def test_the_text_leaves_defaults_out_and_is_sorted() -> None:
    request = Request.of("dp-merf", "digits", epsilon=10, settings={"training.steps": 300.0, "training.batch_size": "50"})
    assert (
        request.text == '{"dataset": {"name": "digits"}, "epsilon": 10.0, "method": "dp-merf", "settings": '
        '{"training.batch_size": 50, "training.steps": 300}}'
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"epsilon": 10}, {"epsilon": 10.0}),
        ({"settings": {"network": {"num_heads": 2}, "ema_decay": 0.5}}, {"settings": {"ema_decay": "0.5", "network.num_heads": 2.0}}),
        ({"settings": {"network.channel_multipliers": (1, 2)}}, {"settings": {"network.channel_multipliers": [1, 2.0]}}),
        ({"preset": "default", "target": "bound", "delta": None, "settings": {}}, {}),
        ({"dataset": DatasetRef.parse("digits", resize="1,8,8")}, {"dataset": "digits"}),
        ({"dataset": DatasetRef.parse("digits", name="digits")}, {"dataset": "digits"}),
    ],
)
def test_what_means_the_same_has_one_text(one: dict[str, Any], other: dict[str, Any]) -> None:
    one, other = ({"dataset": "digits", **fields} for fields in (one, other))
    assert Request.of("nonprivate", **one).text == Request.of("nonprivate", **other).text


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"epsilon": 3.25, "delta": 1e-5, "settings": {"targets": "paper", "phase_two.noise_multiplier": None}, "target": "claim"},
        {"preset": "published-5", "dataset": DatasetRef(path="/files/digits", account="own-digits", classes=("a", "b, c"), split_seed=3)},
        {"dataset": facts("digits")},
    ],
)
def test_a_text_is_read_as_the_request_that_wrote_it(fields: dict[str, Any]) -> None:
    request = Request.of("dp-promise", **{"dataset": "mnist", **fields})
    assert Request.parse(request.text) == request
    assert Request.parse(request.text).text == request.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"method": "dp-nothing"}, "Unknown method"),
        ({"preset": "nothing"}, "Unknown preset of dp-merf"),
        ({"epsilon": -1.0}, "Expected a finite epsilon above 0, got -1.0"),
        ({"delta": 1.0}, "Expected delta in"),
        ({"delta": 1e-400}, r"Expected delta in \(0, 1\), got 0\.0"),
        ({"settings": {"stepz": 3}}, "Unknown field of DPMERFConfig 'stepz'. Choose one of: .*training"),
        ({"settings": {"training.steps": 0}}, r"dp-merf: training\.steps: Expected at least 1, got 0"),
        ({"settings": {"training.learning_rate": float("inf")}}, r"dp-merf: training\.learning_rate: .*finite"),
        ({"settings": {"training.steps.more": 3}}, "steps has no fields of its own"),
    ],
)
def test_wrong_requests_are_refused_by_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        Request.of(**{"method": "dp-merf", "dataset": "digits", **fields})


def test_a_text_that_is_no_request_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="Expected a request as JSON, got dataset"):
        Request.parse('{"method": "dp-merf", "dataset": {"name": "digits", "path": "/digits"}}')


def test_a_folder_is_never_taken_for_a_registered_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    assert DatasetRef.parse("digits") == DatasetRef(name="digits")
    own = DatasetRef(path=str(tmp_path / "digits"), account="own-digits")
    for text in ("./digits", Path("digits"), str(tmp_path / "digits")):
        assert DatasetRef.parse(text) == own
    assert DatasetRef.parse(own.text) == own  # the text says which
    assert own.place == Path(own.path)


def test_a_file_is_loaded_as_its_reference_says(tmp_path: Path) -> None:
    path = own_file(tmp_path)
    first, second = (DatasetRef.parse(path, name="mine", resize="1,4,4", classes="cat,dog", split_seed=seed) for seed in (0, 1))
    dataset = first.load()
    assert dataset.facts == first.facts()
    assert (dataset.facts.name, dataset.facts.shape, dataset.facts.classes) == ("mine", (1, 4, 4), ("cat", "dog"))
    key = here().key
    assert dataset.fingerprint(key) != second.load().fingerprint(key) == second.load(second.facts()).fingerprint(key)
    assert DatasetRef.parse(first.text, split_seed=first.split_seed, **first.texts) == first


def test_a_plan_of_a_request_is_that_of_its_fields() -> None:
    request = Request.of("dp-merf", "digits", epsilon=2, settings={"training.steps": 20})
    plan = make_plan(request)
    assert plan == make_plan("dp-merf", DatasetRef(name="digits"), epsilon=2.0, settings={"training.steps": 20})
    assert plan.request == request
    assert plan.config["training"]["steps"] == 20
    assert json.loads(plan.model_dump_json())["request"]["dataset"]["name"] == "digits"


def test_facts_given_by_hand_are_planned_for_and_not_trained_on() -> None:
    plan = make_plan("dp-merf", facts("digits"), epsilon=2)
    assert plan.bound.is_finite
    with pytest.raises(WorkbenchError, match="Expected a dataset to train on, got facts given by hand"):
        _ = plan.request.place


def test_an_attribute_may_be_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = load("digits")
    curved = np.isin(np.arange(10), [0, 3, 6, 8, 9]).astype(np.int64)
    facts_ = digits.facts.model_copy(update={"name": "shapes", "attributes": {"curved": ("no", "yes"), "digit": digits.facts.classes}})

    def described(records: Records) -> Records:
        assert records.labels is not None
        return replace(records, attributes={"curved": curved[records.labels], "digit": records.labels})

    dataset = Dataset(facts_, described(digits.train), described(digits.held_out))
    monkeypatch.setitem(DATASETS, "shapes", DatasetEntry("Digits by shape.", "shapes", lambda _: facts_, lambda _: dataset))
    place = DatasetRef.parse("shapes", label="curved")
    assert place.facts().classes == ("no", "yes")
    assert list(place.facts().attributes) == ["digit"]
    for loaded in (place.load(), place.load(place.facts())):
        assert loaded.facts == place.facts()
        assert np.array_equal(loaded.train.labels, curved[digits.train.labels])
        loaded.facts.check(loaded.train)
    assert Request.parse(Request.of("dp-merf", place).text).place == place
    with pytest.raises(WorkbenchError, match=r"Unknown attribute of shapes 'size'\. Choose one of: curved, digit"):
        DatasetRef.parse("shapes", label="size").facts()
