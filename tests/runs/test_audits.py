"""Audited runs: canaries in training, the lower bound as the third number everywhere, and the alarm."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.launchers import Here
from support.quick import QUICK

from workbench import experiment, runs, tasks
from workbench.cli import main
from workbench.datasets import load
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.evaluation.membership import SCORES, ignore_progress
from workbench.jobs.launchers import LAUNCHERS
from workbench.plan import Plan
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.records import Records
from workbench.runs import audits, memberships
from workbench.runs.audits import AuditRecord, audit_of, audit_run
from workbench.runs.release import export_run, verify
from workbench.runs.run import Run
from workbench.runs.trained import load_state

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]
DESIGN = AuditDesign(num_canaries=300, num_guesses=300, seed=5)


@pytest.fixture
def perfect_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that know every coin."""
    monkeypatch.setattr(audits, "audit_scores", lambda *_: ("magic", np.where(DESIGN.joined, 0.0, 1.0)))


def test_an_audited_run_trains_on_its_canaries_and_is_not_the_one_to_release(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan, seen = quick_plan(), []
    method, fit = type(plan.build()), type(plan.build()).fit

    def watched(self: Any, data: Records, public: Records | None, state: Any) -> Any:
        seen.append(data)
        return fit(self, data, public, state)

    monkeypatch.setattr(method, "fit", watched)
    run = train_here(plan, audit=DESIGN)
    assert run.audit == DESIGN
    slots = DESIGN.slots(1500)
    assert len(seen[0]) == plan.num_records
    assert np.array_equal(seen[0].mask[slots], DESIGN.joined)
    assert seen[0].mask.sum() == 1500 - (~DESIGN.joined).sum()
    assert not run.releasable
    assert "audited" in run.release_reason
    with pytest.raises(WorkbenchError, match="audited"):
        export_run(here(), run.id, tmp_path / "run.zip")
    with pytest.raises(WorkbenchError, match="trained with canaries"):
        tasks.begin(here(), "audit", train_here(plan).id, {})
    with pytest.raises(WorkbenchError, match="at most 1500 canaries"):
        runs.register(here(), plan, "digits", audit=AuditDesign(num_canaries=2000))


WAYS = {"dp-merf": "nearest sample", "dp-promise": "less those of the model before", "nonprivate": "time steps"}


@pytest.mark.parametrize("method", WAYS)
def test_what_an_audit_measures_is_the_third_number_of_an_equal_plan(method: str, quick_plan: PlanMaker, train_here: Make) -> None:
    plan = quick_plan(method)
    run = train_here(
        plan, audit=AuditDesign(num_canaries=40, num_guesses=20, kind="blank", seed=0), seed=5 if method == "dp-merf" else None
    )
    assert audit_of(here(), plan) is None
    shares: list[float] = []
    audit = audit_run(here(), run.id, shares.append)
    assert shares == sorted(shares)
    assert WAYS[method] in audit.score
    assert 0 <= audit.num_correct <= 20
    assert audit.epsilon <= audit.ceiling == pytest.approx(1.8, abs=0.1)
    assert not audit.is_alarm
    assert audit.seeded is (method == "dp-merf")
    assert audit_of(here(), plan) == audit == audit_run(here(), run.id)
    assert audit_of(here(), plan.model_copy(update={"delta": 1e-7})) is None
    assert audit.value.status == "measured"
    assert audit.value.source == f"audit of run {run.id}"


@pytest.fixture
def plan_at_1() -> Plan:
    """DP-MERF at epsilon 1."""
    return experiment.make_plan("dp-merf", load("digits").facts, epsilon=1.0, settings=QUICK["dp-merf"])


def test_an_audit_may_leave_where_its_bound_covers_all_that_it_is_made_of(plan_at_1: Plan) -> None:
    design = AuditDesign(num_canaries=10, kind="patterns", seed=0)
    audit = AuditRecord(
        run="abcdefgh", method=plan_at_1.method, dataset="digits", design=design, score="loss", num_correct=5, epsilon=0.0, ceiling=3.0,
        f_dp_epsilon=0.0, f_dp_ceiling=3.0, delta=1e-5, bound=1.0, claim=1.0, seeded=False, created=0.0,
    )  # fmt: skip
    assert audit.may_leave
    of_records = design.model_copy(update={"kind": "labels"})
    for change in ({"design": of_records}, {"seeded": True}, {"bound": math.inf}):
        assert not audit.model_copy(update=change).may_leave, change
    assert not AuditRecord.model_validate(audit.model_dump(exclude={"seeded"})).may_leave, "one that does not say stays"


def test_a_lower_bound_above_the_upper_one_is_an_alarm_wherever_it_shows(
    plan_at_1: Plan,
    train_here: Make,
    perfect_attack: None,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    audited, equal = train_here(plan_at_1, audit=DESIGN), train_here(plan_at_1)
    assert audited.bound.epsilon <= 1

    def call(*arguments: str) -> tuple[Any, Any, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        output = capsys.readouterr()
        return ended.value.code, output.out, output.err

    code, out, err = call("audit", audited.id, "--json")
    measured = json.loads(out)
    assert (code, measured["alarm"], measured["releasable"]) == (1, True, True)
    assert measured["epsilon"] == measured["ceiling"] > 3
    assert "ALARM" in err
    shown = json.loads(call("show", equal.id, "--json")[1])
    assert shown["audit"]["run"] == audited.id
    assert shown["audit"]["alarm"].startswith("ALARM")
    assert json.loads(call("show", audited.id, "--json")[1])["audit_design"]["num_canaries"] == 300
    record = audit_of(here(), plan_at_1)
    assert record is not None
    assert record.may_leave
    for changed in ({"design": DESIGN.model_copy(update={"kind": "labels"})}, {"seeded": True}, {"bound": math.inf}):
        assert not record.model_copy(update=changed).may_leave
    assert not AuditRecord.model_validate(record.model_dump(exclude={"seeded"})).may_leave, "what does not say stays"
    export_run(here(), equal.id, tmp_path / "run.zip")
    assert "An audit measured" in verify(tmp_path / "run.zip").checks["card"]


def test_the_pages_and_the_table_of_claims_tell_it(plan_at_1: Plan, train_here: Make, perfect_attack: None) -> None:
    from streamlit.testing.v1 import AppTest

    from workbench.claims import claims_table
    from workbench.pages.budget.points import axis_epsilon
    from workbench.pages.claims.table import audited_methods, claims_frame

    run = train_here(plan_at_1, audit=DESIGN)
    assert axis_epsilon(run, "audit") == "no audit of an equal plan has been run"
    audit = audit_run(here(), run.id)
    assert axis_epsilon(run, "audit") == audit.epsilon

    def card(run_id: str) -> None:
        from workbench.runs.store import RunStore
        from workbench.ui.cards import plan_numbers
        from workbench.workspace import Workspace

        plan_numbers(RunStore(Workspace.default()).get(run_id).plan)

    page = AppTest.from_function(card, args=(run.id,), default_timeout=30).run()
    assert not page.exception
    assert [metric.value for metric in page.metric if metric.label == "Epsilon"][2].startswith(f"{audit.epsilon:.3g}"[:3])
    assert "ALARM" in page.error[0].value
    assert any(f"run {run.id}" in caption.value for caption in page.caption)
    rows = {row.method: row for row in claims_table() if row.method == "dp-merf"}
    assert audited_methods()["dp-merf"].startswith("ALARM: ")
    assert run.id in claims_frame(rows, audited_methods())["Audit (lower bound)"][0]


def test_an_attack_on_membership_is_a_job_that_keeps_what_it_found(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memberships, "MOST_RECORDS", 60)
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    run, other = train_here(quick_plan("nonprivate")), train_here(quick_plan())
    tasks.begin(here(), "membership", run.id, {"score": "pia"})
    path = memberships.kept_file(here(), run.id, "pia", 0)
    assert path.exists()
    attack = memberships.membership_run(here(), run.id, "pia")
    assert (attack.num_members, attack.num_nonmembers, attack.releasable) == (60, 60, False)
    assert 0.3 < attack.auc < 0.7, "four steps teach nothing by heart"
    (kept,) = memberships.kept_scores(here(), run.id)
    assert (kept.score, len(set(kept.training)), len(set(kept.held_out))) == ("pia", 60, 60)
    assert attack.auc == pytest.approx(np.mean([kept.of("training", record)[1] for record in kept.training]))  # type: ignore[index]
    denoiser = run.plan.build().denoiser(load_state(here(), run, seed=0))  # type: ignore[attr-defined]
    again = SCORES["pia"](denoiser, load("digits").held_out.take(kept.held_out), 0, ignore_progress)
    assert kept.held_out_scores == pytest.approx(again), "each score is of the record at its place"
    path.write_text("{}")
    with pytest.raises(DamagedFileError, match="damaged"):
        memberships.membership_run(here(), run.id, "pia")
    for owner, score, message in ((other.id, "loss", "got dp-merf"), (run.id, "guess", "Unknown membership score 'guess'")):
        with pytest.raises(WorkbenchError, match=message):
            tasks.begin(here(), "membership", owner, {"score": score})
    audited = train_here(quick_plan("nonprivate"), audit=AuditDesign(num_canaries=10, seed=0))
    with pytest.raises(WorkbenchError, match="without canaries"):
        tasks.begin(here(), "membership", audited.id, {})
