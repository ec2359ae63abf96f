"""The privacy score by an attribute: who judges, what is told of the balance, and that a collapse scores the other value's share."""

from dataclasses import replace

import numpy as np
import pytest
from support.drawn_faces import toy_faces
from support.homes import here

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation import MetricResult, evaluate, feature_space
from workbench.evaluation import context as measures
from workbench.evaluation.features import told_at_once
from workbench.records import Records


class Told:
    """Judges by the first pixel, which the tests set to the truth."""

    def predict(self, records: Records) -> np.ndarray:
        return records.records[:, 0, 0, 0].astype(np.int64)


@pytest.fixture
def faces(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Faces whose first pixel tells whether they smile, and a judge who reads it."""
    monkeypatch.setattr(measures, "remembered_classifier", lambda *_: Told())
    whole = toy_faces()

    def telling(records: Records) -> Records:
        images = records.records.copy()
        images[:, 0, 0, 0] = records.attributes["smile"]
        return replace(records, records=images)

    return Dataset(whole.facts, telling(whole.train), telling(whole.held_out))


def scored(faces: Dataset, samples: Records, attribute: str | None = "smile") -> tuple[float, str]:
    (score,) = evaluate(samples, faces, metrics=["privacy_score"], features="pixels", attribute=attribute, workspace=here())
    assert not score.releasable
    return score.value, score.note


def test_copies_score_nothing_and_the_balance_is_told(faces: Dataset) -> None:
    value, note = scored(faces, faces.train.take(slice(48)))
    assert value == 0
    assert "smile of training records: no 50.0%, yes 50.0%; of samples as judged: no 50.0%, yes 50.0%." in note
    assert "Warning" not in note
    assert "smile" not in scored(faces, faces.train.take(slice(48)), None)[1]


def test_always_the_same_value_scores_the_share_of_the_other(faces: Dataset) -> None:
    collapsed = faces.train.records.copy()
    collapsed[:, 0, 0, 0] = 1
    value, note = scored(faces, replace(faces.train, records=collapsed))
    assert value == pytest.approx(0.5)
    assert "samples as judged: no 0.0%, yes 100.0%" in note


@pytest.mark.parametrize(("share", "warned"), [(0.5, False), (0.7, True), (0.9, True)])
def test_imbalance_is_warned_of(faces: Dataset, share: float, warned: bool) -> None:
    yes = faces.train.attributes["smile"] == 1
    kept = np.concatenate([np.flatnonzero(yes)[:40], np.flatnonzero(~yes)[: round(40 * (1 - share) / share)]])
    train = faces.train.take(np.sort(kept))
    uneven = Dataset(faces.facts.model_copy(update={"num_records": len(train)}), train, faces.held_out)
    note = scored(uneven, faces.held_out)[1]
    assert ("Warning: out of balance" in note) == warned
    if warned:
        assert f"always draws no may score up to {40 / len(train):.2f}" in note


def test_an_unknown_attribute_lists_the_choices(faces: Dataset) -> None:
    with pytest.raises(WorkbenchError, match=r"Unknown attribute of toy-faces 'hat'\. Choose one of: smile, hair"):
        scored(faces, faces.held_out, "hat")


def test_accuracy_is_by_the_attribute_that_samples_tell(faces: Dataset) -> None:
    combined = faces.labelled_by("smile+hair")
    samples = Records(faces.train.records, combined.train.labels)

    def accuracy(attribute: str | None, dataset: Dataset = combined, labelled: Records = samples) -> MetricResult:
        name = "accuracy_logistic_regression"
        return evaluate(labelled, dataset, metrics=[name], features="pixels", attribute=attribute, workspace=here())[0]

    smile = accuracy("smile")
    assert (smile.chance, smile.value) == (0.5, pytest.approx(smile.ceiling)), "the samples are the training records"
    assert accuracy("hair").chance == pytest.approx(1 / 3)
    smiles = np.bincount(faces.held_out.attributes["smile"])
    assert smile.largest_class == smiles.max() / smiles.sum(), "of the attribute, not of the classes"
    assert accuracy(None).chance == pytest.approx(1 / 6)
    inverted = replace(samples, labels=len(combined.facts.classes) - 1 - combined.facts.combination(faces.train.attributes))
    assert accuracy("smile", labelled=inverted).value < 0.5 < smile.value
    with pytest.raises(WorkbenchError, match="carry no labels"):
        accuracy("smile", faces, Records(faces.train.records, faces.train.labels))


def test_agreement_is_the_share_that_shows_the_value_asked_for(faces: Dataset) -> None:
    """What the judge sees against what a sample carries; a third of the values turned round agree no more."""
    samples = faces.train.take(slice(48))
    wanted = samples.attributes["smile"].copy()
    wanted[:16] = 1 - wanted[:16]
    (agreement,) = evaluate(
        replace(samples, attributes={"smile": wanted}), faces, metrics=["agreement"], features="pixels", attribute="smile", workspace=here()
    )
    assert agreement.value == pytest.approx(2 / 3)
    assert (agreement.chance, agreement.releasable) == (0.5, False)
    with pytest.raises(WorkbenchError, match="these carry no labels"):
        evaluate(replace(samples, attributes={}), faces, metrics=["agreement"], features="pixels", attribute="smile", workspace=here())


def test_a_network_that_was_taught_attributes_makes_features() -> None:
    """Of the public companion where there is one, so that they may leave the room; of the faces themselves else."""
    own = toy_faces()
    public = Dataset(own.facts.model_copy(update={"name": "open", "is_public": True}), own.train, own.held_out)
    spaces = [feature_space("attributes", own, given, workspace=here()) for given in (None, public)]
    assert [space.private for space in spaces] == [True, False]
    assert "smile" in spaces[1].label
    assert spaces[1].label.endswith("of open)")
    assert spaces[1](own.train.take(slice(5))).shape == (5, 128)
    assert len(told_at_once(own.facts)) >= 2
    with pytest.raises(WorkbenchError, match="Choose the features pixels"):
        told_at_once(own.facts.model_copy(update={"attributes": {}}))
