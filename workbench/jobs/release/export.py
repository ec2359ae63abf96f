"""Writing an export: what may leave of a finished run, with its privacy card, hashes, and a list of what stays."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.audits import audit_of
from workbench.jobs.folder import RunFolder
from workbench.jobs.paid import paid_stages
from workbench.jobs.release.archive import CARD, CARD_TEXT, MANIFEST, PLAN, WEIGHTS, digest, write_archive
from workbench.jobs.release.card import LedgerPlace, PrivacyCard, group_bounds, unit_of
from workbench.jobs.run import Run
from workbench.jobs.sample_files import write_records
from workbench.jobs.samples.drawn import RunSamples, sets_of
from workbench.jobs.trained import as_shown, trained_run
from workbench.plan import Plan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.spending.ledger import Ledger
from workbench.serialization import dumps
from workbench.workspace import Workspace

FORMAT = "dp-diffusion-workbench release 1"
STAYS = {  # of a run's folder, by the beginning of a file's name or of a folder's
    "plan.json": "names the place of the records here; the export has it without",
    "model.pt": "the export has these weights as safetensors",
    "private.pt": "weights that saw records without protection",
    "metrics.jsonl": "losses and gradient norms are private values",
    "log.txt": "may name private values, and this machine",
    "environments.jsonl": "names this machine",
    "drawing.jsonl": "tells of this machine",
    "membership": "tells training records from others",
    "leakage": "values of each training record",
    "removal": "whom to leave out was read off private values",
    "pac": "made of trainings on private records without a bound",
    "shadows": "made of trainings on private records without a bound",
    "audit.json": "was measured on a run with canaries; the card of a run by an equal plan tells it",
    "previews": "made while training; samples take their place",
    "evaluation": "compares with private records",
    "copying": "compares with private records",
    "copies": "compares with private records",
    "neighbours": "holds private records",
    "public": "samples of the model before it saw a private record; not this run's",
    "samples.npz": "the export has these samples with the card's notes",
    "request.json": "stands in the notes of the samples",
}
COMPARES = (  # files that exist where somebody looked
    "evaluation",
    "copying",
    "copies",
    "neighbours",
    "membership",
    "leakage",
    "removal",
    "pac",
    "shadows",
)
UNNAMED = "nothing but what is listed leaves"
ELSEWHERE = {
    "the training and held-out records": "private",
    "the noise key": "erased when the run was done",
    "verdicts": "given with private records in view",
    "the ledger": "the card tells this run's place in it",
}


def export_run(workspace: Workspace, run_id: str, path: Path, not_private: bool = False) -> dict[str, Any]:
    """Write a finished run's samples, weights, plan and privacy card to `path`; the manifest: hashes by file, and what is left out.

    Refused without `not_private` where no finite bound is proved or the run is seeded; the card says so then.
    """
    run = as_shown(trained_run(workspace, run_id))
    if not (run.may_be_released or not_private):
        raise WorkbenchError(
            f"Expected a run that may be released, got {run.id}. {run.release_reason} --not-private exports it all the same."
        )
    plan = without_place(run.plan)
    card = card_of(workspace, run)
    members = {CARD: _text(card), CARD_TEXT: card.markdown.encode(), PLAN: _text(plan)}
    members[WEIGHTS] = _weights(workspace, run, digest(members[PLAN]))
    members |= {f"samples/{found.id}.npz": _samples(found, card, digest(members[PLAN])) for found in sets_of(workspace, run.id)}
    manifest = {
        "format": FORMAT,
        "files": {name: digest(content) for name, content in members.items()},
        "left_out": dict(left_out(workspace, run.id)),
    }
    write_archive(path, {**members, MANIFEST: _text(manifest)})
    return manifest


def card_of(workspace: Workspace, run: Run) -> PrivacyCard:
    """The privacy card of a finished run."""
    ledger = Ledger(workspace.ledger)
    spent = tuple(PlannedStage.of(stage) for stage in paid_stages(run, ledger))
    return PrivacyCard(
        run=run.id,
        method=run.method,
        dataset=run.plan.facts.name,
        num_records=run.plan.num_records,
        releasable=run.may_be_released,
        seeded=run.seed is not None,
        release_reason=run.release_reason,
        unit=unit_of(run.plan),
        claim=run.claim,
        bound=run.bound,
        replace_one=run.replace_one,
        groups=group_bounds(run.plan, spent),
        audit=audit.value if (audit := audit_of(workspace, run.plan)) is not None and audit.may_leave else None,
        spent=spent,
        ledger=_place(ledger, run),
        measured=any(path.name.startswith(COMPARES) for path in RunFolder(workspace, run.id).path.rglob("*")),
    )


def without_place(plan: Plan) -> Plan:
    """The plan with its dataset's facts in the place of its name or path: what a recipient can plan by."""
    return plan.model_copy(update={"request": plan.request.model_copy(update={"dataset": plan.facts})})


def left_out(workspace: Workspace, run_id: str) -> Iterator[tuple[str, str]]:
    """What is kept of a run and stays, each with the reason."""
    folder = RunFolder(workspace, run_id).path
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".lock" and path.name != "lock":
            name = path.relative_to(folder).as_posix()
            beginning = next((start for start in STAYS if path.name.startswith(start) or name.startswith(start)), "")
            yield name, STAYS.get(beginning, UNNAMED)
    yield from ELSEWHERE.items()


def _place(ledger: Ledger, run: Run) -> LedgerPlace:
    account = run.plan.facts.name
    entries = ledger.entries(account)
    position, own = next((number, entry) for number, entry in enumerate(entries, 1) if entry.run_id == run.id)
    total = ledger.total(account, delta=run.delta)
    return LedgerPlace(account=account, position=position, runs=len(entries), opened=own.opened_at, closed=own.closed_at, total=total)


def _weights(workspace: Workspace, run: Run, plan: str) -> bytes:
    from workbench.jobs.release.weights import packed
    from workbench.training.state import load_saved

    return packed(load_saved(RunFolder(workspace, run.id).model), {"run": run.id, "plan": plan})


def _samples(found: RunSamples, card: PrivacyCard, plan: str) -> bytes:
    """A set of samples as a file of arrays, with notes that name no place of this machine."""
    notes = {"run": card.run, "samples": found.id, "request": found.request, "dataset": card.dataset, "plan": plan}
    notes |= {"bound": card.bound, "releasable": card.releasable}
    kept = found.kept()
    assert kept is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npz"
        write_records(kept, path, notes, found.facts)
        return path.read_bytes()


def _text(value: Any) -> bytes:
    return json.dumps(json.loads(dumps(value)), indent=2, sort_keys=True).encode()
