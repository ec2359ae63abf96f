"""Accounts go by the dataset's name: versions of its records add up, look-alikes are told."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from support.homes import here

from workbench.datasets import DATASETS
from workbench.datasets.base import Dataset, DatasetFacts
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending.accounts import MOST_HASHES, resembling_datasets, shared_fraction
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import Budget
from workbench.records import ImageKind, Records

RELEASE = [Stage("release", GaussianDpEvent(4.0), "once")]
DELTA = 1e-5


def spend(ledger: Ledger, run_id: str, fingerprint: str, dataset: str, account: str | None = None) -> None:
    ledger.open_run(run_id, fingerprint, dataset, "dp-merf", RELEASE, DELTA, account=account)
    ledger.charge(run_id, "release", 1)


def gaussians(number: int) -> float:
    """Epsilon of that many releases of mu = 1/4."""
    return gdp_epsilon(0.25 * number**0.5, DELTA)


def dataset_of(images: np.ndarray, labels: np.ndarray | None = None) -> Dataset:
    facts = DatasetFacts(name="mine", num_records=len(images), kind=ImageKind(size=images.shape[1:]))
    return Dataset(facts, Records(images, labels), Records(images[:0]))


def images(number: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(256, size=(number, 1, 4, 4), dtype=np.uint8)


def test_every_version_of_the_records_counts_under_the_name() -> None:
    ledger = Ledger(here().ledger)
    spend(ledger, "first", "a" * 16, "/data/scans.npz")
    spend(ledger, "one bit later", "b" * 16, "/data/scans.npz")
    spend(ledger, "named", "c" * 16, "/elsewhere/x.npz", account="scans")
    spend(ledger, "another", "d" * 16, "/data/birds.npz")
    for key in ("scans", "a" * 16, "c" * 16):
        assert ledger.total(key).epsilon == pytest.approx(gaussians(3))
    ledger.set_budget("scans", gaussians(3) + 0.01, DELTA)
    assert "its budget" in str(ledger.warning_before("scans", RELEASE, DELTA))
    assert ledger.warning_before("birds", RELEASE, DELTA) is None


SAME_PEOPLE = {  # by the first, every other registered dataset that has its people's records
    "digits": {"permuted-digits", "digits-validation"},
    "mnist": {"mnist-validation"},
    "fashion-mnist": {"fashion-mnist-validation"},
    "celeba": {"celeba-all", "celeba-hair"},
    "breast-cancer": {"breast-cancer-fine"},
    "faces": {"faces-70", "faces-90"},
}


@pytest.mark.parametrize("name", DATASETS)
def test_registered_datasets_of_the_same_people_are_on_one_account(name: str) -> None:
    others = next((({first} | rest) - {name} for first, rest in SAME_PEOPLE.items() if name in {first} | rest), set[str]())
    ledger = Ledger(here().ledger)
    for number, other in enumerate(DATASETS):
        spend(ledger, other, f"{number:016}", other, account=other)
    total = gaussians(1 + len(others))
    assert {entry.run_id for entry in ledger.entries(name)} == {name, *others}
    assert ledger.total(name).epsilon == pytest.approx(total)
    ledger.set_budget(name, total + 0.01, DELTA)
    for other in DATASETS:
        assert ("its budget" in str(ledger.warning_before(other, RELEASE, DELTA))) == (other in {name, *others})


def test_a_ledger_that_counted_the_same_people_apart_adds_them_up() -> None:
    ledger = Ledger(here().ledger)
    spend(ledger, "first", "a" * 16, "digits")
    spend(ledger, "second", "b" * 16, "permuted-digits")
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("UPDATE runs SET account = dataset")
        connection.executemany("INSERT INTO budgets VALUES (?, ?, ?, '')", [("permuted-digits", 2.0, DELTA), ("digits", 3.0, DELTA)])
    assert ledger.total("digits").epsilon == pytest.approx(gaussians(2))
    assert ledger.budget("digits-validation") == Budget(2.0, DELTA)
    ledger.set_budget("digits", 5.0, DELTA)
    assert ledger.budgets() == {"digits": (5.0, DELTA)}


def test_equal_records_stay_on_one_account_under_any_name() -> None:
    ledger = Ledger(here().ledger)
    spend(ledger, "first", "a" * 16, "/data/scans.npz")
    ledger.set_budget("scans", 9.0, DELTA)
    spend(ledger, "second", "a" * 16, "/data/renamed.npz")
    spend(ledger, "third", "b" * 16, "/data/renamed.npz")
    assert ledger.total("scans").epsilon == ledger.total("renamed").epsilon == pytest.approx(gaussians(3))
    assert ledger.budget("renamed") == Budget(9.0, DELTA)
    ledger.set_budget("renamed", float("inf"), DELTA)
    assert ledger.budget("scans") == Budget(float("inf"), DELTA)


def test_records_are_known_again_in_another_order_with_other_labels_or_one_changed() -> None:
    records = images(50)
    known = dataset_of(records, np.zeros(50, dtype=np.int64)).record_hashes(here().key)
    shuffled = dataset_of(records[::-1], np.ones(50, dtype=np.int64)).record_hashes(here().key)
    np.testing.assert_array_equal(known, shuffled)
    changed = records.copy()
    changed[7, 0, 0, 0] ^= 1
    assert shared_fraction(known, dataset_of(changed).record_hashes(here().key)) == pytest.approx(49 / 50)
    assert shared_fraction(known, dataset_of(records[:5]).record_hashes(here().key)) == 1.0
    assert shared_fraction(known, dataset_of(images(50, seed=1)).record_hashes(here().key)) == 0.0


def test_much_the_same_records_under_another_name_are_told() -> None:
    ledger, records = Ledger(here().ledger), images(50)
    spend(ledger, "first", "a" * 16, "/data/scans.npz")
    ledger.note_records("a" * 16, dataset_of(records).record_hashes(here().key))
    for kept, resembles in ((5, True), (4, False)):
        mixed = np.concatenate([records[:kept], images(50 - kept, seed=1)])
        sentence = ledger.resemblance("others", "b" * 16, dataset_of(mixed).record_hashes(here().key))
        assert (sentence is not None and "'scans' (10%)" in sentence) is resembles
    assert ledger.resemblance("scans", "b" * 16, dataset_of(records).record_hashes(here().key)) is None
    assert not ledger.has_other_records("scans")
    assert ledger.has_other_records("others")


def test_a_part_of_the_hashes_estimates_the_share() -> None:
    draws = np.random.default_rng(0).integers(2**64, size=400_000, dtype=np.uint64)
    first, second = np.unique(draws[:300_000])[:MOST_HASHES], np.unique(draws[200_000:])[:MOST_HASHES]
    assert shared_fraction(first, second) == pytest.approx(0.5, abs=0.02)
    assert resembling_datasets(np.unique(draws[:300_000]), {"second": second, "none": np.array([1, 2, 3], dtype=np.uint64)}).keys() == {
        "second"
    }


def test_the_ledger_holds_no_record_and_its_hashes_say_nothing_without_the_key() -> None:
    records = images(50)
    ledger = Ledger(here().ledger)
    spend(ledger, "first", "a" * 16, "/data/scans.npz")
    ledger.note_records("a" * 16, dataset_of(records).record_hashes(here().key))
    content = b"".join(path.read_bytes() for path in here().home.glob("ledger.sqlite*"))
    assert not any(record.tobytes() in content for record in records)
    before = dataset_of(records).record_hashes(here().key)
    (here().home / "installation.key").unlink()
    assert not np.isin(before, dataset_of(records).record_hashes(here().key)).any()
