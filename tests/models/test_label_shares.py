"""Labels by released counts: what noise may make of counts, nothing breaks."""

import numpy as np
import pytest

from workbench.models.label_shares import LabelShares, labels_by
from workbench.models.sample_request import SampleRequest
from workbench.training.streams import Stream

RELEASED, REQUEST = LabelShares(shares="released"), SampleRequest(num_samples=3_000)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((30.0, 10.0, -5.0), (0.8, 0.2, 0.0)), ((-5.0, -1.0, -3.0), (1 / 3, 1 / 3, 1 / 3)), ((0.0, 0.0, 0.0), (1 / 3, 1 / 3, 1 / 3))],
)
def test_labels_have_the_nearest_shares_and_are_even_where_counts_say_nothing(
    counts: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    drawn = labels_by(RELEASED, REQUEST, 3, np.array(counts), Stream(bytes(32)))
    assert drawn is not None
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 3_000, expected, atol=0.05)
