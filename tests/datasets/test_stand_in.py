"""Records that stand in for a dataset: of its facts whatever they are, drawn by a seed, with something to learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.tables import unnamed_columns

from workbench import datasets
from workbench.datasets.base import DatasetFacts
from workbench.datasets.stand_in import stand_in
from workbench.errors import WorkbenchError
from workbench.records import ImageKind
from workbench.records.rules import Rule

ONE_BY_ONE = DatasetFacts(name="tiny", kind=ImageKind(size=(3, 1, 1)), num_records=5, classes=tuple(map(str, range(40))))
WIDE = DatasetFacts(name="wide", kind=ImageKind(size=(1, 9, 200)), num_records=70)
RULED = unnamed_columns([3, 1, 4]).model_copy(update={"never": (Rule(columns=("column 1", "class"), values=((0, 1), (1,))),)})
ROWS = DatasetFacts(name="rows", kind=RULED, num_records=500, classes=("no", "yes"))
FACES = datasets.facts("faces").at_size((3, 16, 16)).model_copy(update={"num_records": 300})
FACTS = {facts.name: facts for facts in (*map(datasets.facts, ("digits", "adult", "patients")), FACES, ONE_BY_ONE, WIDE, ROWS)}


@pytest.mark.parametrize("name", FACTS)
def test_it_has_the_facts_and_goes_by_the_seed(name: str) -> None:
    facts = FACTS[name]
    first, again, other = stand_in(facts, 1), stand_in(facts, 1), stand_in(facts, 2)
    facts.check(first.train)
    facts.model_copy(update={"num_records": len(first.held_out)}).check(first.held_out)
    assert len(first.held_out) >= 200
    assert np.array_equal(first.train.records, again.train.records)
    assert not np.array_equal(first.train.records, other.train.records)
    assert set(first.held_out.labels.tolist() if first.held_out.labels is not None else ()) == set(range(facts.num_classes))


@pytest.mark.parametrize("name", ["digits", "adult", "rows"])
def test_classes_can_be_learnt(name: str) -> None:
    dataset, kind = stand_in(FACTS[name]), FACTS[name].kind
    assert dataset.train.labels is not None
    assert dataset.held_out.labels is not None
    learner = LogisticRegression(max_iter=200).fit(kind.features(dataset.train.records)[:2000], dataset.train.labels[:2000])
    right = (learner.predict(kind.features(dataset.held_out.records)) == dataset.held_out.labels).mean()
    assert right > 0.6, "chance is 0.1 or 0.5"


def test_rules_between_columns_hold() -> None:
    records = stand_in(ROWS).train
    assert not RULED.rows_breaking(records)[0].any()
    assert records.labels is not None
    assert records.labels.mean() > 0.1


def test_rules_that_no_row_keeps_are_refused() -> None:
    impossible = RULED.model_copy(update={"never": (Rule(columns=("column 1", "class"), values=((0, 1, 2), (0, 1))),)})
    with pytest.raises(WorkbenchError, match="700 of 700 broke one"):
        stand_in(ROWS.model_copy(update={"kind": impossible}))
