"""Making a dossier: what the workbench knows of a finished run, from its folder, the ledger and the export, and what people have said."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from workbench.evaluation import METRICS
from workbench.marks import may_leave
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.profile import PrivacyProfile, privacy_profile
from workbench.privacy.attacks.tradeoff import attack_rates
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import LedgerEntry, bound_of
from workbench.runs.audits import audit_of
from workbench.runs.dossier.statements import kept_statements
from workbench.runs.dossier.values import FORMAT, Audience, Dossier, LedgerRow, Measure
from workbench.runs.finished import kept_results
from workbench.runs.release.card import PrivacyCard
from workbench.runs.release.export import Contents, contents, day
from workbench.runs.samples import sample_set
from workbench.runs.trained import trained_run
from workbench.workspace import Workspace


def dossier_of(workspace: Workspace, run_id: str, audience: Audience = "outside", content: Contents | None = None) -> Dossier:
    """The dossier of a finished run; `content` is what its export holds, where that was made already."""
    run, content = trained_run(workspace, run_id), content or contents(workspace, run_id)
    audit, in_room = audit_of(workspace, run.plan), audience == "room"
    results = kept_results(workspace, run_id)
    measures = [measure_of(result, in_room) for result in results]
    shown_measures = tuple(one for one in measures if one.value is not None or one.epsilon_zero is not None)
    room = None
    if in_room:
        from workbench.runs.dossier.room import room_of

        room = room_of(workspace, run)
    may_show = in_room or content.card.releasable
    return Dossier(
        audience=audience,
        made=today(),
        card=content.card,
        audit_ceiling=audit.ceiling if audit is not None and content.card.audit is not None else None,
        ledger=tuple(ledger_row(entry) for entry in Ledger(workspace.ledger).entries(content.card.ledger.account)),
        measures=shown_measures,
        withheld=len(measures) - len(shown_measures),
        cautions=sample_set(workspace, run_id).cautions if may_show else (),
        files=content.manifest["files"],
        answers=kept_statements(workspace, run_id).answers,
        room=room,
        **computed_fields(content.plan, content.card),
    ).as_read()


def computed_fields(plan: Plan, card: PrivacyCard) -> dict[str, Any]:
    """The fields of a dossier that follow from an export's plan and card alone."""
    method, stages = METHODS[plan.method], [planned.stage for planned in card.spent]
    return {
        "format": FORMAT,
        "title": method.title,
        "source": method.source,
        "preset": plan.preset,
        "config": plan.config,
        "kind": plan.facts.kind.name,
        "num_protected": plan.facts.num_protected,
        "classes": plan.facts.classes,
        "profile": (profile := privacy_profile(stages, plan.delta)),
        "best_attack": best_attack(profile),
    }


def best_attack(profile: PrivacyProfile) -> dict[str, float]:
    """The largest true-positive rate of any attack by its false-positive rate: every point of the profile limits it, and the least counts.

    Source: the trade-off of (epsilon, delta) at every delta together (Dong, Roth and Su 2022, Prop. 2.12).
    """
    by_point = [attack_rates(point.bound, point.delta) for point in profile.points]
    return {f"{rate:g}": min(rates[rate] for rates in by_point) for rate in by_point[0]}


def ledger_row(entry: LedgerEntry) -> LedgerRow:
    """A run of the ledger without anything that names its records."""
    spent = entry.paid_stages()
    return LedgerRow(
        run=entry.run_id,
        method=entry.method,
        purpose=entry.purpose,
        opened=day(entry.opened_at),
        closed=entry.closed_at and day(entry.closed_at),
        public=entry.public,
        spent=tuple(PlannedStage.of(stage) for stage in spent),
        alone=bound_of(spent, entry.delta),
    )


def measure_of(result: Mapping[str, Any], in_room: bool) -> Measure:
    """A kept result as a row; outside the room, what may not leave is None."""
    shown = {name: in_room or may_leave(result, name) for name in ("value", "interval", "ceiling", "epsilon_zero")}
    interval: Sequence[Any] = (result.get("interval") if shown["interval"] else None) or (None, None)
    metric = METRICS.get(result["name"])
    return Measure(
        name=result["name"],
        title=metric.title if metric else result["name"],
        unit=result.get("unit") or "",
        better=result.get("better") or "",
        num_samples=result["num_samples"],
        value=finite(result["value"]) if shown["value"] else None,
        low=finite(interval[0]),
        high=finite(interval[1]),
        ceiling=finite(result.get("ceiling")) if shown["ceiling"] else None,
        epsilon_zero=finite(result.get("epsilon_zero")) if shown["epsilon_zero"] else None,
        releasable=may_leave(result, "value"),
    )


def finite(value: Any) -> float | None:
    """A number of the JSON form; None for nothing and for what is no number."""
    number = None if value is None else float(value)
    return None if number is None or number != number else number


def today() -> str:
    """The day, in UTC."""
    return datetime.now(UTC).date().isoformat()
