"""Persons with several rows: at most k of each take part, nobody is on both sides, and the column that names them is no feature."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.persons import MOST_ROWS, VISITS, visits

from workbench import datasets
from workbench.datasets import csv_table
from workbench.datasets.base import Dataset
from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.person_rows import PersonRows
from workbench.datasets.proposal import proposal
from workbench.errors import WorkbenchError
from workbench.records import Records
from workbench.training.randomness import Randomness


def theirs_of(dataset: Dataset) -> PersonRows:
    assert dataset.theirs is not None
    return dataset.theirs


def test_at_most_k_rows_of_a_person_take_part_and_persons_are_held_out_whole(tmp_path: Path) -> None:
    path = visits(tmp_path)
    dataset = datasets.load(path, declared=VISITS)
    assert dataset.facts == datasets.facts(path, declared=VISITS)
    persons = theirs_of(dataset).persons
    assert dataset.facts.persons is not None
    assert (dataset.facts.persons.number, len(np.unique(persons))) == (50, 50), "a sixth of sixty persons is held out"
    kept = sum(min(count, MOST_ROWS) for count in Counter(persons.tolist()).values())
    assert kept == dataset.facts.num_records == len(dataset.train) < len(persons)
    assert [column.name for column in dataset.facts.kind.columns] == ["ward", "stay"]  # pyright: ignore[reportAttributeAccessIssue]
    all_rows = Counter({f"p{person:02}": 1 + person % 6 for person in range(60)})
    names = list(dict.fromkeys(line.split(",")[0] for line in path.read_text().splitlines()[1:]))
    held_out = sum(min(all_rows[name], MOST_ROWS) for number, name in enumerate(names) if number not in persons)
    assert len(dataset.held_out) == held_out


@pytest.mark.parametrize("seed", [0, 7])
def test_facts_of_another_split_are_those_of_its_persons(tmp_path: Path, seed: int) -> None:
    path = visits(tmp_path)
    assert datasets.facts(path, declared=VISITS, seed=seed) == datasets.load(path, declared=VISITS, seed=seed).facts


def test_every_run_draws_rows_of_its_own_and_all_of_a_persons_are_as_likely() -> None:
    rows = PersonRows(Records(np.arange(6)[:, None]), np.array([0, 1, 0, 0, 1, 0]), most_rows=2)
    drawn = [rows.drawn(Randomness.from_seed(seed)).records[:, 0].tolist() for seed in range(400)]
    assert all({1, 4} < set(kept) and len(kept) == 4 and kept == sorted(kept) for kept in drawn), "who has no more gives all"
    counts = Counter(row for kept in drawn for row in kept if row not in (1, 4))
    assert set(counts) == {0, 2, 3, 5}
    assert all(abs(count - 200) < 4 * 10 for count in counts.values()), counts
    again = Randomness.from_seed(3)
    assert rows.drawn(again).records.tolist() == rows.drawn(again).records.tolist(), "a run that is resumed draws the same"


def test_which_rows_are_drawn_does_not_depend_on_what_is_in_them(tmp_path: Path) -> None:
    one, other = (datasets.load(visits(tmp_path, others), declared=VISITS) for others in ({}, {5: "c,29,yes", 11: "a,0,no"}))
    assert one.facts.model_copy(update={"name": ""}) == other.facts.model_copy(update={"name": ""})
    randomness = Randomness.from_seed(0)
    changed = (one.drawn(randomness).records != other.drawn(randomness).records).any(axis=1)
    assert 0 < changed.sum() <= 2 * MOST_ROWS


def test_held_out_rows_of_ones_own_are_of_other_persons(tmp_path: Path) -> None:
    path, later = visits(tmp_path), tmp_path / "later.csv"
    later.write_text("patient,ward,stay,ill\n" + "new,a,1,no\n" * 5)
    dataset = datasets.load(path, declared=VISITS, held_out=later)
    assert (len(dataset.held_out), dataset.facts.persons and dataset.facts.persons.number) == (MOST_ROWS, 60)
    assert dataset.facts == datasets.facts(path, declared=VISITS, held_out=later)
    later.write_text("patient,ward,stay,ill\np07,a,1,no\nnew,b,2,yes\n")
    with pytest.raises(WorkbenchError, match=r"Expected other persons in later\.csv"):
        datasets.load(path, declared=VISITS, held_out=later)


def test_what_makes_no_persons_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("patient,ward,stay,ill\np1,a,1,no\n,b,2,yes\n")
    with pytest.raises(WorkbenchError, match=r"a person in every row of the column 'patient' of visits\.csv, got none in line 3"):
        datasets.load(path, declared=VISITS)
    path.write_text("patient,ward,stay,ill\np1,a,1,no\np1,b,2,yes\n")
    with pytest.raises(WorkbenchError, match="at least 2 persons"):
        datasets.load(path, declared=VISITS)
    path.write_text("ward,stay,ill\na,1,no\nb,2,yes\n")
    with pytest.raises(WorkbenchError, match="the column 'patient', which names the person"):
        datasets.facts(path, declared=VISITS)
    for change, said in [
        ({"rows_per_person": 0}, "together with `rows_per_person`"),
        ({"person": ""}, "together with `rows_per_person`"),
        ({"person": "ward"}, "to be no feature"),
    ]:
        with pytest.raises(WorkbenchError, match=said):
            TableDeclaration.parse(VISITS.model_copy(update=change).model_dump_json())


def test_a_proposal_and_a_frame_keep_the_person_out_of_the_features(tmp_path: Path) -> None:
    path = visits(tmp_path)
    proposed = proposal(path, "ill", person="patient", rows_per_person=2)
    assert (proposed.declaration.person, proposed.declaration.rows_per_person, proposed.left_out) == ("patient", 2, {})
    assert [column.name for column in proposed.declaration.columns] == ["ward", "stay", "ill"]
    with pytest.raises(WorkbenchError, match="together with `rows_per_person`"):
        proposal(path, "ill", person="patient")
    frame = csv_table.of_frame(pd.read_csv(path), VISITS, path.stem)
    assert frame.facts == datasets.facts(path, declared=VISITS)
