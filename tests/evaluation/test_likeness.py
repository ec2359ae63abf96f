"""The words of an evaluation: samples that teach no class, and records that look like nothing public, said there and nowhere else."""

import pytest

from workbench.evaluation.likeness import guessing_note, likeness_note, unlike_public

ROW = {
    "name": "accuracy_logistic_regression",
    "better": "higher",
    "chance": 0.1,
    "ceiling": 0.9,
    "epsilon_zero": 0.14,
    "epsilon_zero_releasable": False,
}


Value = float | None


@pytest.mark.parametrize(("zero", "chance", "ceiling"), [(0.1, 0.1, 0.9), (0.25, 0.1, 0.9), (0.05, 0.1, 0.9)])
def test_less_than_a_fifth_of_the_way_to_the_ceiling_is_no_help(zero: Value, chance: Value, ceiling: Value) -> None:
    assert unlike_public(zero, chance, ceiling)


@pytest.mark.parametrize(
    ("zero", "chance", "ceiling"), [(0.27, 0.1, 0.9), (None, 0.1, 0.9), (0.1, None, 0.9), (0.1, 0.1, None), (0.1, 0.9, 0.9)]
)
def test_more_is_a_help_and_nothing_is_said_without_all_three(zero: Value, chance: Value, ceiling: Value) -> None:
    assert not unlike_public(zero, chance, ceiling)


def test_the_sentence_names_both_numbers_and_the_mark() -> None:
    note = likeness_note([ROW | {"epsilon_zero": None}, ROW])
    assert "Public data alone give 0.14 in accuracy_logistic_regression (private), where guessing gives 0.1" in note
    assert "either these records look like nothing public, or the public model learned too little" in note, "nothing tells"
    assert "class-moments" in note
    assert "(releasable)" in likeness_note([ROW | {"epsilon_zero_releasable": True}])


def test_public_records_themselves_tell_a_weak_model_from_foreign_records() -> None:
    foreign = likeness_note([ROW | {"public_records": 0.15}])
    assert foreign.startswith("These records look like nothing public")
    assert "the public records themselves 0.15 (private)" in foreign
    weak = likeness_note([ROW | {"public_records": 0.7}])
    assert weak.startswith("The public model learned too little: its samples give 0.14")
    assert "the public records that it learned from give 0.7 (private)" in weak
    assert "look like nothing public" not in weak


def test_measures_of_which_less_is_better_say_nothing() -> None:
    assert likeness_note([ROW | {"better": "lower"}]) == ""
    assert likeness_note([]) == ""


def test_rows_drawn_evenly_are_not_meant_to_look_like_a_table() -> None:
    assert likeness_note([ROW | {"epsilon_zero_reason": "Of rows drawn evenly."}]) == ""


ACCURACY = {"name": "accuracy_cnn", "value": 0.36, "largest_class": 0.566, "releasable": False}


def test_samples_that_teach_no_more_than_the_most_frequent_class_are_said_to() -> None:
    note = guessing_note([ACCURACY, ACCURACY | {"name": "accuracy_mlp", "value": 0.47}, ROW])
    assert "has 0.47 in accuracy_mlp (private), and whoever always names the most frequent class has 0.566 (private)" in note
    assert guessing_note([ACCURACY | {"value": 0.566}]), "as often is no more often"
    assert guessing_note([ACCURACY | {"value": 0.566}, ACCURACY | {"value": 0.57}]) == "", "one that is above is enough"
    assert guessing_note([ROW, ROW | {"largest_class": None, "value": None}]) == "", "others say nothing"


def test_a_classifier_below_the_most_frequent_class_is_named_where_another_is_above() -> None:
    note = guessing_note([ACCURACY, ACCURACY | {"name": "accuracy_mlp", "value": 0.7}])
    assert note.startswith("Whoever always names the most frequent class has 0.566 (private), and not every classifier")
    assert note.endswith("comes to that: accuracy_cnn has 0.36 (private).")


def test_a_value_above_the_most_frequent_class_by_chance_is_said_to_show_nothing() -> None:
    lucky = ACCURACY | {"value": 0.6, "interval": [0.55, 0.65]}
    note = guessing_note([lucky])
    assert note.startswith("Nothing shows that these samples teach what tells the classes apart: the best classifier")
    assert "has 0.6 in accuracy_cnn (private, interval 0.55 to 0.65), and whoever" in note
    assert guessing_note([lucky | {"interval": [0.57, 0.65]}]) == ""
    area = {"name": "auc_logistic_regression", "value": 0.7, "largest_class": None}
    assert guessing_note([lucky, area | {"interval": [0.51, 0.8]}]) == "", "classes are told apart, though few are found"
    assert guessing_note([lucky, area | {"interval": [0.49, 0.8]}])
