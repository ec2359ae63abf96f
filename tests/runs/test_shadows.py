"""Shadow models of a run: on what they are trained, that they are made once, and where their attack shows."""

from collections.abc import Callable
from typing import Any

import pytest
from pages.reading import opened
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Here

from workbench import tasks
from workbench.datasets import load
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.evaluation import membership
from workbench.jobs.launchers import LAUNCHERS
from workbench.plan import Plan
from workbench.runs import memberships, shadows
from workbench.runs.run import Run

PlanMaker = Callable[..., Plan]
Make = Callable[..., Run]


def test_lira_trains_shadows_on_as_many_records_and_goes_on_where_it_stopped(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memberships, "MOST_RECORDS", 60)
    monkeypatch.setattr(membership, "LOSS_DRAWS", 1)
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    run = train_here(quick_plan("nonprivate"))
    trained: list[Any] = []
    real = shadows.experiment.fit

    def counted(plan: Plan, dataset: Any, *rest: Any) -> Any:
        trained.append(dataset)
        if len(trained) == 3:
            raise WorkbenchError("interrupted")
        return real(plan, dataset, *rest)

    monkeypatch.setattr(shadows.experiment, "fit", counted)
    with pytest.raises(WorkbenchError, match="interrupted"):
        memberships.membership_run(here(), run.id, "lira")
    first_scores = shadows.shadow_file(here(), run.id, 0, 16, 0)
    whole = first_scores.read_bytes()
    for damage in (whole[:-20], b""):
        first_scores.write_bytes(damage)
        with pytest.raises(DamagedFileError, match="Move it away: it is made anew"):
            memberships.membership_run(here(), run.id, "lira")
    first_scores.write_bytes(whole)
    shares: list[float] = []
    attack = memberships.membership_run(here(), run.id, "lira", report=shares.append)
    assert len(trained) == 3 + 14, "the two that were done are not trained again"
    assert shares == sorted(shares)
    assert (attack.score, attack.num_members, attack.num_nonmembers) == ("lira, 16 shadows", 60, 60)
    assert {len(data.train) for data in trained} == {run.plan.facts.num_records}
    held_out = {record.tobytes() for record in load("digits").held_out.records}
    first, second = ({record.tobytes() for record in data.train.records} & held_out for data in trained[:2])
    assert len(first) > 15
    assert 55 <= len(first | second) <= 60, "each judged record takes part in one of a pair"
    assert len(first & second) < 5
    assert memberships.membership_run(here(), run.id, "quantile").score == "quantile"
    assert [one.score for one in memberships.kept_attacks(here(), run.id)] == ["lira, 16 shadows", "quantile"]
    (kept,) = memberships.kept_scores(here(), run.id)
    assert (kept.score, len(kept.training_scores), len(kept.held_out_scores)) == ("lira", 60, 60)
    tasks.begin(here(), "membership", run.id, {"score": "lira", "shadows": 16})
    for request in (*({"score": "lira", "shadows": many} for many in (14, 17, 100_000)), {"score": "loss", "shadows": 16}):
        with pytest.raises(WorkbenchError, match="shadows"):
            tasks.begin(here(), "membership", run.id, request)

    def page(run_id: str) -> None:
        from workbench.pages.runs.attacks import show_attacks

        show_attacks(run_id, "runs_")

    shown = opened(AppTest.from_function(page, args=(run.id,), default_timeout=30).run())
    assert not shown.exception
    assert len(shown.dataframe[0].value) == 4
    assert "Private" in shown.caption[0].value
