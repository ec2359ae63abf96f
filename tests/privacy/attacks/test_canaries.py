"""Canaries: where they stand, which of them join, and what guesses about them prove."""

import numpy as np
import pytest
from pydantic import ValidationError
from support.tables import toy_table

from workbench.datasets import load
from workbench.errors import WorkbenchError
from workbench.privacy.attacks.audit import one_run
from workbench.privacy.attacks.canaries import KINDS, AuditDesign


@pytest.mark.parametrize("kind", KINDS)
def test_canaries_take_slots_and_those_that_stay_out_are_null_records(kind: str) -> None:
    digits, design = load("digits"), AuditDesign.model_validate({"num_canaries": 200, "kind": kind, "seed": 3})
    audited, canaries, slots = design.applied_to(digits), design.canaries(digits), design.slots(1500)
    assert len(set(slots.tolist())) == 200
    digits.facts.check(audited.train)  # the same number, type and range: the plan holds
    others = np.setdiff1d(np.arange(1500), slots)
    assert np.array_equal(audited.train.records[others], digits.train.records[others])
    assert audited.train.mask[others].all()
    assert np.array_equal(audited.train.mask[slots], design.joined)
    assert 70 < design.joined.sum() < 130
    assert np.array_equal(audited.train.records[slots], canaries.records)
    assert audited.train.labels is not None
    assert canaries.labels is not None
    assert np.array_equal(audited.train.labels[slots], canaries.labels)
    assert np.array_equal(design.applied_to(digits).train.records, audited.train.records), "a resumed run sees the same canaries"
    other = design.model_copy(update={"seed": 4})
    assert not np.array_equal(other.joined, design.joined)
    assert not np.array_equal(other.slots(1500), slots)


def test_the_kinds_are_what_they_say() -> None:
    digits = load("digits")
    by_kind = {kind: AuditDesign(num_canaries=200, kind=kind, seed=0) for kind in KINDS}
    slots = by_kind["labels"].slots(1500)
    labels = by_kind["labels"].canaries(digits)
    assert digits.train.labels is not None
    assert labels.labels is not None
    assert np.array_equal(labels.records, digits.train.records[slots])
    assert (labels.labels != digits.train.labels[slots]).all()
    assert len(set(labels.labels - digits.train.labels[slots])) > 9
    greys = by_kind["blank"].canaries(digits).records.reshape(200, -1)
    assert (greys == greys[:, :1]).all()
    assert len(set(greys[:, 0].tolist())) == 200
    assert by_kind["patterns"].canaries(digits).records.std() > 70
    assert by_kind["patterns"].canaries(toy_table()).records.shape == (200, *toy_table().facts.shape)
    with pytest.raises(WorkbenchError, match="Expected images"):
        by_kind["blank"].canaries(toy_table())
    with pytest.raises(WorkbenchError, match="at most 1500 canaries"):
        AuditDesign(num_canaries=1501).canaries(digits)
    with pytest.raises(ValidationError, match="even number of guesses, at most 10, got 12"):
        AuditDesign(num_canaries=10, num_guesses=12)


def test_guesses_are_the_outermost_scores_and_prove_what_the_one_run_audit_says() -> None:
    design = AuditDesign(num_canaries=100, num_guesses=40, seed=0)
    perfect = np.where(design.joined, 0.0, 1.0) + np.linspace(0, 0.5, 100)
    correct, bound, _ = design.judged_guesses(perfect, 1e-5)
    assert (correct, bound.epsilon) == (40, bound.ceiling)
    assert bound.epsilon == one_run(100, 40, 40, 1e-5).epsilon > 2
    assert design.judged_guesses(-perfect, 1e-5)[:2] == (0, one_run(100, 40, 0, 1e-5))
    inner = perfect.copy()
    order = np.argsort(perfect)
    inner[order[20:80]] = perfect[order[20:80]][::-1]  # what is not guessed does not count
    assert design.judged_guesses(inner, 1e-5)[0] == 40
    assert AuditDesign(num_canaries=101).guesses == 50
    with pytest.raises(WorkbenchError, match="100 finite scores"):
        design.judged_guesses(np.full(100, np.nan), 1e-5)


def test_each_audit_flips_its_own_coins_unless_a_seed_is_given() -> None:
    first, second = (AuditDesign(num_canaries=200) for _ in range(2))
    assert first.seed != second.seed, "once in 2^32 they are equal"
    assert (first.joined != second.joined).sum() > 50
    assert AuditDesign.model_validate_json(first.model_dump_json()) == first
    assert (AuditDesign(num_canaries=200, seed=first.seed).joined == first.joined).all()
