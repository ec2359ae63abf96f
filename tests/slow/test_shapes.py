"""Images that nothing public is like: what the pages propose for drawn shapes, at its defaults."""

from typing import Any

import pytest
from support.shapes import shapes

from workbench.evaluation.downstream import cnn
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.base import usual_delta
from workbench.methods.private_classifier import PrivateClassifier
from workbench.methods.proposed import proposed_for_images

DEPENDS = [
    "tests/support/shapes.py",
    "workbench/datasets/process*.py",
    "workbench/evaluation/learners.py",
    "workbench/methods/private_classifier/**",
    "workbench/methods/proposed.py",
    "workbench/privacy/accounting/gaussian.py",
    "workbench/training/grid.py",
]


@pytest.mark.slow(depends=DEPENDS)
@pytest.mark.parametrize(("epsilon", "bar"), [(3.0, 0.7), (10.0, 0.85)])
def test_what_is_proposed_teaches_shapes_apart(epsilon: float, bar: float, figures: dict[str, Any]) -> None:
    """400 pictures of 16x16 in any colour, 2 000 to test on; a CNN on 10 000 samples. Settings were chosen on other draws."""
    data = shapes()
    method = proposed_for_images(data.facts, epsilon, usual_delta(data.facts)).method
    plan = make_plan(method, data.facts, epsilon=epsilon)
    state, built = new_state(plan, seed=0), plan.build()
    for _ in fit(plan, data, state):
        pass
    assert isinstance(built, PrivateClassifier)
    truth = data.held_out.labels
    taught = float((cnn(sample(plan, state, 10_000), data.held_out, data, 0) == truth).mean())
    figures |= {"method": method, "bound": round(plan.bound.epsilon, 4), "delta": plan.delta, "accuracy of a CNN on samples": taught}
    figures["accuracy of the released classifier"] = float((built.classify(state, data.held_out) == truth).mean())
    assert taught >= bar
