"""Parts of a dataset: disjoint, all of it, the same whatever the records are, and kept through resumes."""

import numpy as np
import pytest
from support.quick import quick_dataset

from workbench.errors import WorkbenchError
from workbench.training.parts import Parts
from workbench.training.randomness import Randomness
from workbench.training.state import State


def new_state() -> State:
    return State(quick_dataset("dp-merf").facts, Randomness.from_seed(1))


def test_every_record_is_in_one_part_and_sizes_differ_by_one_at_most() -> None:
    parts = Parts.by_position(23, 5)
    positions = [parts.positions(part) for part in range(5)]
    assert sorted(np.concatenate(positions)) == list(range(23))
    assert {len(one) for one in positions} == {4, 5}
    assert positions[3].tolist() == [3, 8, 13, 18]


def test_a_resumed_state_has_the_same_parts_and_refuses_other_records() -> None:
    state, resumed = new_state(), new_state()
    begun = Parts.begun(state, 7)
    resumed.restore(state.checkpoint())
    assert np.array_equal(Parts.of(resumed, 7, state.facts.num_records).of_record, begun.of_record)
    with pytest.raises(WorkbenchError, match="records that the parts were made of"):
        Parts.of(resumed, 7, state.facts.num_records - 1)


@pytest.mark.parametrize("number", [0, 24])
def test_more_parts_than_records_and_none_are_refused(number: int) -> None:
    with pytest.raises(WorkbenchError, match="Expected 1 to 23 parts"):
        Parts.by_position(23, number)
