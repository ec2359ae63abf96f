"""What a reviewer's verdicts on planted controls say."""

from support.quick import quick_dataset

from workbench.evaluation.features import pixels
from workbench.privacy.attacks.audit import clopper_pearson
from workbench.runs.controls import planted_controls, what_was_found
from workbench.runs.verdicts import Judgement, Verdict


def given(judgements: list[Judgement]) -> dict[int, Verdict]:
    return {
        at: Verdict(run="a", samples="s", sample=at, verdict=one, note="", time=0.0, reviewer="Ada") for at, one in enumerate(judgements)
    }


def test_copies_and_others_are_told_by_what_was_called_copied_once_all_are_judged() -> None:
    dataset = quick_dataset("dp-merf")
    controls = planted_controls(dataset, pixels(dataset), k=1, number=4)
    assert controls.copied.tolist() == [True] * 4 + [False] * 4
    judged: list[Judgement] = ["copied", "copied", "copied", "fine", "copied", "fine", "similar", "unsure"]
    assert what_was_found(controls, given(judged[:-1])) is None
    assert what_was_found(controls, given(judged)) == (clopper_pearson(3, 4), clopper_pearson(1, 4))
