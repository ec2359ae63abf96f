"""Records keep what belongs to each of them, and which of them are there."""

import numpy as np

from workbench.records import Records


def three() -> Records:
    """Three rows with labels, an attribute and a null record in the middle."""
    records = Records(np.arange(6).reshape(3, 2), np.array([0, 1, 2]), {"age": np.array([5, 6, 7])})
    return records.without(1)


def test_a_record_taken_out_counts_and_is_null() -> None:
    records = three()
    assert len(records) == 3
    assert records.mask.tolist() == [True, False, True]
    assert records.without(np.array([0, 2])).mask.tolist() == [False, False, False]
    assert records.mask.tolist() == [True, False, True]  # the one it was made from is as it was
    assert Records(records.records).mask.all()


def test_what_is_taken_keeps_what_belongs_to_it() -> None:
    taken = three().take(np.array([2, 1]))
    assert taken.records.tolist() == [[4, 5], [2, 3]]
    assert taken.labels is not None
    assert taken.labels.tolist() == [2, 1]
    assert taken.attributes["age"].tolist() == [7, 6]
    assert taken.mask.tolist() == [True, False]


def test_records_follow_records_with_what_both_have() -> None:
    other = Records(np.array([[9, 9]]), None, {"size": np.array([1]), "age": np.array([8])})
    both = three().followed_by(other)
    assert both.records[:, 0].tolist() == [0, 2, 4, 9]
    assert both.labels is None
    assert {name: values.tolist() for name, values in both.attributes.items()} == {"age": [5, 6, 7, 8]}
    assert both.mask.tolist() == [True, False, True, True]
    assert other.followed_by(other).present is None
