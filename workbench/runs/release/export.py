"""Writing an export: what may leave of a finished run, with its privacy card, hashes, and a list of what stays."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workbench.datasets import records_of
from workbench.datasets.joined import JOIN
from workbench.datasets.whose import has_own, told_of
from workbench.errors import WorkbenchError
from workbench.plan import Plan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.audits import audit_of
from workbench.runs.folder import RunFolder
from workbench.runs.paid import paid_stages
from workbench.runs.release.archive import CARD, CARD_TEXT, FORMAT, MANIFEST, PLAN, WEIGHTS, digest, packed_arrays, write_archive
from workbench.runs.release.card import LedgerPlace, PrivacyCard
from workbench.runs.run import Run
from workbench.runs.sample_files import arrays_of
from workbench.runs.samples import cautions
from workbench.runs.samples.drawn import RunSamples, sets_of
from workbench.runs.samples.request import SamplesRequest
from workbench.runs.trained import trained_run
from workbench.serialization import dumps
from workbench.workspace import Workspace

NAME_PUBLIC = ("dataset", "candidates")  # fields of a configuration
STAYS = {  # of a run's folder, by the beginning of a file's name or of a folder's
    "plan.json": "names the place of the records here; the export has it without",
    "model.pt": "the export has these weights as safetensors",
    "private.pt": "weights that saw records without protection",
    "metrics.jsonl": "losses and gradient norms are private values",
    "log.txt": "may name private values, and this machine",
    "environments.jsonl": "names this machine",
    "drawing.jsonl": "tells of this machine",
    "membership": "tells training records from others",
    "game": "tells training records from others",
    "leakage": "values of each training record",
    "removal": "whom to leave out was read off private values",
    "pac": "made of trainings on private records without a bound",
    "shadows": "made of trainings on private records without a bound",
    "votes": "an epsilon by the true votes of teachers, which depends on the records",
    "audit.json": "was measured on a run with canaries; the card of a run by an equal plan tells it",
    "statements.json": "what people said for the dossier, which has a file of its own",
    "previews": "made while training; samples take their place",
    "evaluation": "compares with private records",
    "copying": "compares with private records",
    "copies": "compares with private records",
    "neighbours": "holds private records",
    "public": "samples of the model before it saw a private record; not this run's",
    "prior.json": "stands in the notes of the samples",
    "samples.npz": "the export has these samples with the card's notes",
    "request.json": "stands in the notes of the samples",
}
COMPARES = (  # files that exist where somebody looked
    "evaluation",
    "copying",
    "copies",
    "neighbours",
    "membership",
    "game",
    "leakage",
    "removal",
    "pac",
    "shadows",
    "votes",
)
WORDS = ("relations", "sampling", "reason")  # of a stage, which may be told in another order or otherwise
ANYTHING_ELSE, UNNAMED = "anything else", "nothing but what is listed leaves"
ELSEWHERE = {
    "the training and held-out records": "private",
    "the noise key": "erased when the run was done",
    "verdicts": "given with private records in view",
    "the ledger": "the card tells this run's place in it",
}
LEFT_OUT = {**STAYS, ANYTHING_ELSE: UNNAMED, **ELSEWHERE}  # alike for all runs: what a folder has tells who looked, and when


def export_run(workspace: Workspace, run_id: str, path: Path, not_private: bool = False) -> dict[str, Any]:
    """Write a finished run's samples, weights, plan and privacy card to `path`; the manifest: hashes by file, and what is left out.

    Refused without `not_private` where no finite bound is proved or the run is seeded; the card says so then.
    """
    content = contents(workspace, run_id)
    if not (content.card.releasable or not_private):
        raise WorkbenchError(
            f"Expected a run that may be released, got {run_id}. {content.card.release_reason} --not-private exports it all the same."
        )
    write_archive(path, {**content.members, MANIFEST: _text(content.manifest)})
    return content.manifest


@dataclass(frozen=True)
class Contents:
    """What is in an export: the plan as it is told, the card, the files by name but for the manifest, and that."""

    plan: Plan
    card: PrivacyCard
    members: dict[str, bytes]
    manifest: dict[str, Any]


def contents(workspace: Workspace, run_id: str) -> Contents:
    """What an export of a finished run would hold now."""
    run = trained_run(workspace, run_id)
    plan = restated_plan(run.plan)
    card = card_of(workspace, run, plan)
    members = {CARD: _text(card), CARD_TEXT: card.markdown.encode(), PLAN: _text(plan)}
    members[WEIGHTS] = _weights(workspace, run, digest(members[PLAN]))
    members |= {f"samples/{samples.id}.npz": _samples(samples, card, digest(members[PLAN])) for samples in sets_of(workspace, run.id)}
    hashes = {name: digest(content) for name, content in members.items()}
    return Contents(plan, card, members, {"format": FORMAT, "files": hashes, "left_out": LEFT_OUT})


def card_of(workspace: Workspace, run: Run, plan: Plan) -> PrivacyCard:
    """The privacy card of a finished run, whose plan is told as `plan`; refused where the ledger does not have all that it spent."""
    ledger = Ledger(workspace.ledger)
    audit = audit_of(workspace, run.plan)
    return PrivacyCard.of(
        plan,
        run=run.id,
        seeded=run.seed is not None,
        audited=run.audit is not None,
        spent=tuple(_as_planned(PlannedStage.of(stage), plan) for stage in paid_stages(run, ledger)),
        audit=audit.value if audit is not None and audit.may_leave else None,
        ledger=_place(ledger, run),
        measured=any(path.name.startswith(COMPARES) for path in RunFolder(workspace, run.id).path.rglob("*")),
    )


def restated_plan(plan: Plan) -> Plan:
    """The plan as this version computes and words it, with its dataset's facts in the place of its name or path."""
    from workbench.planning import describe

    used = plan.build().public_dataset
    known = _told_places(used, plan.public) if used and plan.public else {}
    portable_plan = plan.model_copy(update={"config": without_places(plan.config, known)})
    request = plan.request.model_copy(update={"dataset": plan.facts, "settings": without_places(plan.request.settings, known)})
    method = portable_plan.build()
    public = method.public_dataset if plan.public else ""
    now = describe(method, plan.facts, plan.delta, request)
    return now.model_copy(update={"public": public or "", "warnings": tuple(dict.fromkeys((*plan.warnings, *now.warnings)))})


def _told_places(used: str, description: str) -> dict[str, str]:
    """What is told of the public files that a plan used, by their places: of all in one, and of each where several are joined."""
    return dict(zip(used.split(JOIN), description.split(JOIN), strict=False)) | {used: description}


def without_places(config: Mapping[str, Any], known: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """A configuration with public files of one's own named by their last name and their content, not by where they lie here.

    Those that are `known` have the name that they had when they were planned with, whatever lies there now.
    """
    values: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            values[name] = without_places(value, known)
            continue
        if name.rpartition(".")[2] not in NAME_PUBLIC:
            values[name] = value
        else:
            values[name] = (
                [_without_places(part, known) for part in value] if isinstance(value, list | tuple) else _without_places(value, known)
            )
    return values


def _without_places(value: Any, known: Mapping[str, str]) -> Any:
    is_place = isinstance(value, str) and value and has_own(value)
    return (known.get(value) or told_of(value)) if is_place else value


def _as_planned(spent: PlannedStage, plan: Plan) -> PlannedStage:
    """What was spent, in the words of the plan's equal stage, if there is one."""
    for planned in (*plan.releases, *plan.sampled):
        same = (planned.name, planned.event, set(planned.relations)) == (spent.name, spent.event, set(spent.relations))
        if same:
            return spent.model_copy(update={name: getattr(planned, name) for name in WORDS})
    return spent


def left_out_here(workspace: Workspace, run_id: str) -> dict[str, str]:
    """The lines of LEFT_OUT that are about files of this run, and about what lies elsewhere.

    For whoever exports it: it tells who looked at what, so it enters no export.
    """
    folder = RunFolder(workspace, run_id).path
    there = {_beginning(path.relative_to(folder).as_posix()) or ANYTHING_ELSE for path in folder.rglob("*") if path.is_file()}
    return {name: reason for name, reason in LEFT_OUT.items() if name in there or name in ELSEWHERE}


def _beginning(name: str) -> str:
    """The beginning in STAYS that a file of a run's folder has, named from there on; empty if none is its."""
    last = name.rpartition("/")[2]
    return next((start for start in STAYS if last.startswith(start) or name.startswith(start)), "")


def day(moment: str) -> str:
    """The day of a moment in ISO 8601: how long a run took tells of its batches' sizes."""
    return moment[: len("2000-01-01")]


def _place(ledger: Ledger, run: Run) -> LedgerPlace:
    account = records_of(run.plan.facts.name)
    entries = ledger.entries(account)
    position, own = next((number, entry) for number, entry in enumerate(entries, 1) if entry.run_id == run.id)
    total, closed = ledger.total(account, delta=run.delta), own.closed_at and day(own.closed_at)
    return LedgerPlace(account=account, position=position, runs=len(entries), opened=day(own.opened_at), closed=closed, total=total)


def _weights(workspace: Workspace, run: Run, plan: str) -> bytes:
    from workbench.runs.release.weights import packed_part
    from workbench.training.state import load_saved

    return packed_part(load_saved(RunFolder(workspace, run.id).model), {"run": run.id, "plan": plan})


def _samples(samples: RunSamples, card: PrivacyCard, plan: str) -> bytes:
    """A set of samples as a file of arrays, with notes that name no place of this machine."""
    kept = samples.kept_records()
    assert kept is not None
    beside = cautions.cautions_and_numbers(samples.run.plan, samples.request, kept, cautions.kept(samples.folder))
    return packed_arrays(arrays_of(kept, notes_of(samples.request, card, plan) | beside, samples.facts))


def notes_of(request: SamplesRequest, card: PrivacyCard, plan: str) -> dict[str, Any]:
    """What stands beside the samples of a request; `plan` is the digest of the plan's file."""
    notes = {"run": card.run, "samples": request.id, "request": request, "dataset": card.dataset, "plan": plan}
    return {**notes, "bound": card.bound, "releasable": card.releasable}


def _text(value: Any) -> bytes:
    return json.dumps(json.loads(dumps(value)), indent=2, sort_keys=True).encode()
