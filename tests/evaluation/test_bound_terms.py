"""The terms of a bound as measures: means over held-out records, by name alone, refused where no model tells them."""

import numpy as np
import pytest
from support.homes import here
from support.quick import quick_dataset, quick_plan
from support.tables import toy_table

from workbench import evaluation, experiment
from workbench.errors import WorkbenchError
from workbench.methods.ddm import DDM
from workbench.records import Records

NAMES = ["elbo_reconstruction", "elbo_prior", "elbo_denoising"]


def test_they_are_means_over_held_out_records() -> None:
    table = toy_table()

    def terms(records: Records, seed: int) -> dict[str, np.ndarray]:
        assert seed == 5
        assert len(records) == len(table.held_out)
        numbers = np.arange(len(records)) % 2.0
        return {"reconstruction": numbers, "prior": numbers + 1, "denoising": numbers + 2}

    measured = evaluation.evaluate(table.train, table, metrics=NAMES, terms=terms, seed=5, workspace=here())
    assert [term.value for term in measured] == [0.5, 1.5, 2.5]
    assert not any(term.releasable for term in measured)
    assert [(term.ceiling, term.epsilon_zero) for term in measured] == [(None, None)] * 3, "of the model, not of records in its place"
    with pytest.raises(WorkbenchError, match="such as ddm"):
        evaluation.evaluate(table.train, table, metrics=NAMES[:1], workspace=here())


def test_of_an_untrained_model_they_are_what_even_columns_cost() -> None:
    """Nothing is learnt: a record costs at least log 3 + log 2 + log 4 + log 2, the prior nothing, every record the same on average."""
    plan, dataset = quick_plan("ddm"), quick_dataset("ddm")
    state, method = experiment.new_state(plan, seed=0), plan.build()
    assert isinstance(method, DDM)
    terms = method.bound_terms(state, dataset.held_out, 3)
    assert {name: values.shape for name, values in terms.items()} == dict.fromkeys(("reconstruction", "prior", "denoising"), (60,))
    assert (terms["prior"] == 0).all()
    total = sum(terms.values())
    assert np.asarray(total).mean() == pytest.approx(np.log(48), rel=0.15)
    again = method.bound_terms(state, dataset.held_out, 3)
    assert all(np.array_equal(values, again[name]) for name, values in terms.items())
    measured = experiment.evaluate(plan, state, dataset, 50, metrics=NAMES, workspace=here())
    assert [round(one.value, 9) for one in measured][1] == 0.0
