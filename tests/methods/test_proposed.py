"""Which method is proposed for images of one's own: by public facts, the records' own moments where noise leaves enough of them."""

import pytest

from workbench.datasets import facts as facts_of
from workbench.datasets.base import DatasetFacts
from workbench.methods.base import usual_delta
from workbench.methods.proposed import proposed_for_images
from workbench.records import ImageKind

FASHION = DatasetFacts(name="clothes", num_records=60_000, kind=ImageKind(size=(1, 28, 28)), classes=tuple("0123456789"))
SHAPES = DatasetFacts(name="shapes", num_records=400, kind=ImageKind(size=(3, 16, 16)), classes=("circle", "square", "stripes"))
COLOURED = FASHION.at_size((3, 8, 8))
ONE_CLASS = SHAPES.model_copy(update={"classes": ()})
TINY = SHAPES.at_size((3, 6, 6))


@pytest.mark.parametrize(
    ("facts", "epsilon", "method"),
    [
        (SHAPES, 3.0, "private-classifier"),
        (SHAPES, 10.0, "private-classifier"),
        (FASHION, 1.0, "cluster-moments"),
        (FASHION.model_copy(update={"num_records": 300}), 1.0, "private-classifier"),
        (SHAPES.model_copy(update={"num_records": 1_000}), 3.0, "cluster-moments"),
        (COLOURED.model_copy(update={"num_records": 850}), 2.0, "private-classifier"),
        (COLOURED.model_copy(update={"num_records": 850}), 10.0, "cluster-moments"),
        (COLOURED.model_copy(update={"num_records": 300}), 1.0, "private-classifier"),
        (facts_of("permuted-digits"), 1.0, "cluster-moments"),
        (facts_of("permuted-digits"), 10.0, "cluster-moments"),
        (ONE_CLASS, 3.0, "cluster-moments"),
        (TINY, 3.0, "cluster-moments"),
    ],
)
def test_moments_where_noise_leaves_enough_and_a_classifier_elsewhere(facts: DatasetFacts, epsilon: float, method: str) -> None:
    proposal = proposed_for_images(facts, epsilon, usual_delta(facts))
    assert (proposal.method, bool(proposal.reason)) == (method, True)
