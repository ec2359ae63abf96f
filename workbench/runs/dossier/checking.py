"""The check of a dossier against its export, on any machine and without data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.totals import bound_of, zero_out_total
from workbench.runs.dossier.html import MOST_BYTES, read_dossier, render
from workbench.runs.dossier.making import computed_fields
from workbench.runs.dossier.questions import checked_answer
from workbench.runs.dossier.values import Dossier, LedgerRow, Measure
from workbench.runs.release.archive import MANIFEST, PLAN, read_archive
from workbench.runs.release.card import PrivacyCard
from workbench.runs.release.statements import alike, day_of, difference_words, is_below
from workbench.runs.release.verify import complaint_of, read_json, read_model

NOT_CHECKED = "measures, cautions, verdicts, findings and answers are taken on the word of whoever made the dossier"


def check_dossier(path: Path, export: Path, card: PrivacyCard) -> dict[str, str]:
    """What became of each check of a dossier against an export whose `card` was verified: empty words where it held."""
    text = _text(path)
    dossier = read_dossier(text)
    _, members = read_archive(export)
    plan, manifest = read_model(Plan, PLAN, members[PLAN]), read_json(members[MANIFEST])
    checks: dict[str, Callable[[], str]] = {
        "dossier's page": lambda: "" if render(dossier) == text else "The page does not say what its values say.",
        "dossier's card": lambda: wrong_card(dossier, card),
        "dossier's files": lambda: "" if dossier.files == manifest.get("files") else "The hashes are not those of the export's files.",
        "dossier's numbers": lambda: wrong_numbers(dossier, plan),
        "dossier's ledger": lambda: wrong_ledger(dossier),
        "dossier's audit": lambda: wrong_ceiling(dossier),
        "dossier's marks": lambda: wrong_marks(dossier),
        "dossier's answers": lambda: wrong_answers(dossier),
    }
    return {name: complaint_of(check) for name, check in checks.items()}


def wrong_card(dossier: Dossier, card: PrivacyCard) -> str:
    """How the card differs from that of the export."""
    for name in PrivacyCard.model_fields:
        here, there = getattr(dossier.card, name), getattr(card, name)
        if difference_words(name, here, there):
            both = isinstance(here, PrivacyValue) and isinstance(there, PrivacyValue)
            values = f" ({here.epsilon:.6g} here, {there.epsilon:.6g} there)" if both else ""
            return f"Its {name} is not that of the export's card{values}. One of the two files was changed, or is older than the other."
    return ""


def wrong_numbers(dossier: Dossier, plan: Plan) -> str:
    """What does not follow from the export's plan and the card: profile, mu, what an attack can reach, method and configuration."""
    if plan.method not in METHODS:
        return f"No method here is called {plan.method}."
    for name, value in computed_fields(plan, dossier.card).items():
        if not alike(_plain(getattr(dossier, name)), _plain(value)):
            return f"The {name.replace('_', ' ')} is not what follows from the export."
    return ""


def wrong_ledger(dossier: Dossier) -> str:
    """What is wrong with the list of runs: its length, this run's place and spending, each run's epsilon, and the total of all."""
    rows, place, card = dossier.ledger, dossier.card.ledger, dossier.card
    if len(rows) != place.runs:
        return f"{len(rows)} runs are listed, and the card says {place.runs}."
    if rows[place.position - 1].run != card.run:
        return f"Run {place.position} of the list is {rows[place.position - 1].run}, and the card says {card.run}."
    if wrong := next(filter(None, map(_wrong_row, rows)), ""):
        return wrong
    own = [stage for row in rows if row.run == card.run or row.run.startswith(f"{card.run}-samples-") for stage in row.spent]
    if not alike([_stage_costs(stage) for stage in own], [_stage_costs(stage) for stage in card.spent]):
        return "What this run spent by the list is not what the card says."
    total = zero_out_total([(f"run {row.run}", [stage.stage for stage in row.spent]) for row in rows], place.total.delta)
    return difference_words("total of the list", place.total, total)


def wrong_ceiling(dossier: Dossier) -> str:
    """What is wrong with an audit's ceiling: it is told where an audit is, and is no smaller than what was measured."""
    audit, ceiling = dossier.card.audit, dossier.audit_ceiling
    if (audit is None) != (ceiling is None):
        return "An audit and its ceiling are told together, or neither."
    return "The audit's ceiling is below what it measured." if audit and ceiling is not None and is_below(ceiling, audit.epsilon) else ""


def wrong_marks(dossier: Dossier) -> str:
    """What a dossier to release shows though its mark says that it is private."""
    if (dossier.audience == "room") != (dossier.room is not None):
        return "It has a private part and says that it may be released, or the reverse."
    if dossier.audience == "room":
        return ""
    if leaks := [one.name for one in dossier.measures if not _may_be_told(one)]:
        return f"{leaks[0]} is shown, though its mark says that it is private."
    return "" if dossier.card.releasable or not dossier.cautions else "It shows cautions of samples that must not be released."


def wrong_answers(dossier: Dossier) -> str:
    """An answer that no question allows."""
    for key, text in dossier.answers.items():
        if checked_answer(key, text) != text or not text:
            return f"The answer to {key} is not in its normal form."
    return ""


def _may_be_told(one: Measure) -> bool:
    private = (one.value, one.low, one.high)
    return one.ceiling is None and (one.releasable or private == (None, None, None))


def _wrong_row(row: LedgerRow) -> str:
    try:
        opened, closed = day_of(row.opened), day_of(row.opened if row.closed is None else row.closed)
    except ValueError:
        return f"Run {row.run} is told with other than days: {row.opened[:50]!r} and {(row.closed or '')[:50]!r}."
    if closed < opened:
        return f"Run {row.run} was closed on {row.closed}, before it was opened on {row.opened}."
    return difference_words(f"epsilon of run {row.run} alone", row.alone, bound_of([stage.stage for stage in row.spent], row.alone.delta))


def _stage_costs(stage: Any) -> dict[str, Any]:
    """What of a stage costs: its words may be told otherwise."""
    return {"name": stage.name, "event": stage.event, "steps": stage.steps, "distance": stage.sampler_distance, "spent": stage.spent}


def _plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else value


def _text(path: Path) -> str:
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise WorkbenchError(f"Expected a dossier of at most {MOST_BYTES // 2**20} MiB, got {path}.")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise WorkbenchError(f"Expected a dossier as `workbench dossier` writes it, got no UTF-8 in {path}.") from None
