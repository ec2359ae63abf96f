"""The page of file formats: what is read, with the fields' own descriptions, and what is written, key by key from the code that writes."""

from collections.abc import Mapping

from pydantic import BaseModel

from docs.site.tables import rows_of, settings_table
from workbench.datasets.declaration import TableDeclaration
from workbench.evaluation.results import MetricResult
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.recipes.lines import Recipe
from workbench.request import Request
from workbench.runs.archiving import contents as archive
from workbench.runs.dossier import html
from workbench.runs.dossier.values import FORMAT as DOSSIER_FORMAT
from workbench.runs.dossier.values import Dossier, LedgerRow, Measure
from workbench.runs.release import archive as export
from workbench.runs.release.card import LedgerPlace, PrivacyCard

READ: dict[str, type[BaseModel]] = {
    "A request, as `--request FILE` reads it": Request,
    "A declaration of a table, `FILE.declared.json`": TableDeclaration,
    "A recipe, as `workbench reproduce FILE` reads it": Recipe,
}
EXPORT = {  # members of the zip
    export.CARD: "The privacy card, below.",
    export.CARD_TEXT: "The same card as text, made from it.",
    export.PLAN: "The plan: request, facts of the dataset, configuration, releases, claim, bound. It names no place of the machine.",
    export.WEIGHTS: "What is released of the model, as safetensors: tensors named `modules/NAME/...` and `tensors/NAME`; "
    "metadata `run` and `plan` (the SHA-256 of plan.json).",
    export.SAMPLES.pattern: "A set of samples, as arrays: the records, `labels` and `classes` where there are classes, and `notes` (JSON: "
    "run, samples, request, dataset, plan, bound, releasable).",
    export.MANIFEST: f"`format` ({export.FORMAT}), `files` (SHA-256 of every other member by its name), `left_out` (what stays, and why).",
}
ARCHIVE = {  # members of the tar, the first two first
    archive.LIST: "The list of what follows, below.",
    archive.SEAL: "SHA-256 of the list, in hexadecimal.",
    archive.member_of("RUN", "PATH"): "Each file of each run's folder, but for those whose names begin with "
    f"{' or '.join(f'`{name}`' for name in archive.LEFT_OUT)}: no noise key is in an archive.",
}
RESULT = {  # of a line's run, in a file of results
    "name": "The line of the recipe.",
    "method": "Its method.",
    "run": "The id of the run.",
    "seed": "Its seed; null where the noise was the system's own.",
    "claim": "What the paper claims, a privacy value as below.",
    "bound": "What is proved, a privacy value.",
    "seconds": "How long it trained.",
    "drawing_seconds": "How long its samples took.",
    "peak_bytes": "The most memory that it held.",
    "environments": "Of each attempt: commit, versions, processor, device, precision.",
    "evaluation": "`results` has the measures, below; beside it which samples were measured and how.",
    "audit": "The measured lower bound, where the line asks for one.",
}
VALUE = {
    "epsilon": 'Epsilon; the text "inf" where it is infinite.',
    "delta": "The delta at which it holds.",
    "status": "proved, approximation, not_proved, refuted, not_evaluated, or measured (a lower bound).",
    "accountant": "Which accountant computed it.",
    "neighboring_relation": "What a neighbor is.",
    "sampling": "How records are drawn, as the value assumes.",
    "reason": "Why it holds, or why there is none.",
    "source": "The paper, for a claim.",
}
STAGE = {
    "name": "The release.",
    "event": "One step's mechanism as JSON.",
    "spent": "once, per_step, or free.",
    "steps": "How many steps.",
    "relations": "The neighboring relations that it has a bound under.",
    "sampling": "How records are drawn.",
    "reason": "Why the event covers what is released.",
    "sampler_distance": "Total variation between what is drawn and the event's law.",
}
CARD = {
    "workbench": "Version of the workbench.",
    "run": "The id of the run.",
    "method": "Its method.",
    "dataset": "The name of the dataset.",
    "num_records": "Training records.",
    "public": "The images that were taken to be public; one's own files with a digest of what was in them.",
    "releasable": "Whether samples and weights may leave: a finite proved bound, noise that nobody can repeat, no canaries.",
    "seeded": "Whether the noise can be repeated.",
    "audited": "Whether canaries were among the records.",
    "release_reason": "Why it may leave, or why not.",
    "unit": "Whom the bound speaks of.",
    "claim": "The paper's number, a privacy value.",
    "bound": "The proved number.",
    "replace_one": "The same where one record is replaced by another; null where none is proved.",
    "groups": "The bound for somebody with so many records, by their number.",
    "audit": "A measured lower bound, from an audited run of an equal plan; null where there is none.",
    "spent": "Every release of training and sampling at its count, stages as below.",
    "ledger": "The run's place among all on the same records, below.",
    "measured": "Whether samples were compared with private records, so that a choice among runs may rest on these.",
    "assumes": "What the bound assumes.",
    "outside": "What no bound covers.",
}
PLACE = {
    "account": "The account of the dataset.",
    "position": "Which run it was, from 1 on.",
    "runs": "How many runs there are.",
    "opened": "The day on which it began.",
    "closed": "The day on which it ended; null where it goes on.",
    "total": "What all runs come to, where a record is made null.",
}
DOSSIER = {
    "format": f"The text {DOSSIER_FORMAT!r}.",
    "audience": "outside, or room for the version that shows private records.",
    "made": "The day.",
    "title": "The method's title.",
    "source": "The method's paper.",
    "preset": "The preset that the settings were laid over.",
    "config": "The configuration after calibration.",
    "kind": "The kind of record.",
    "num_protected": "How many records, or persons, the bound speaks of.",
    "classes": "Names of the classes.",
    "card": "The privacy card of the export.",
    "audit_ceiling": "What the card's audit could have said at most.",
    "profile": "Delta over epsilon, by every accountant.",
    "best_attack": "The largest true-positive rate that the bound leaves, by false-positive rate.",
    "ledger": "Every run on the same records, below.",
    "measures": "What was measured of the samples, below.",
    "withheld": "How many measures have no value here as their marks keep them in the room.",
    "cautions": "What to know of the samples.",
    "files": "SHA-256 of the export's files.",
    "answers": "What people have said, by question.",
    "room": "What may not leave: verdicts, findings of attacks, suspicious samples beside records. Null in a dossier for outside.",
}
ROW = {
    "run": "The id of a run.",
    "method": "Its method.",
    "purpose": "What it was for.",
    "opened": "The day on which it began.",
    "closed": "The day on which it ended.",
    "public": "The images that it took to be public.",
    "spent": "What it spent, stage by stage.",
    "alone": "The epsilon that this alone comes to.",
}
MEASURE = {
    "name": "The measure.",
    "title": "Its title.",
    "unit": "Its unit.",
    "better": "Which way is better.",
    "num_samples": "How many samples were measured.",
    "value": "The value; null where its mark keeps it in the room.",
    "low": "Lower end of its 95 % interval.",
    "high": "Upper end.",
    "ceiling": "The same of real training records.",
    "epsilon_zero": "The same of samples that saw public data alone.",
    "releasable": "The value's mark.",
}
METRIC = {
    "name": "The measure.",
    "value": "Its value.",
    "interval": "The ends of its 95 % interval, or null.",
    "num_samples": "How many samples were measured.",
    "features": "Where distances were taken.",
    "split": "Which private records it looked at.",
    "seconds": "How long the value took.",
    "releasable": "The mark of `value`, `interval` and `note`: whether they may leave the room.",
    "protocol": "How it was taken.",
    "ceiling": "The same measure of real training records.",
    "ceiling_num_samples": "Of how many.",
    "epsilon_zero": "The same of samples that saw public data alone, or null.",
    "epsilon_zero_num_samples": "Of how many.",
    "epsilon_zero_reason": "Why there is none, or that it is of rows drawn evenly.",
    "epsilon_zero_releasable": "The mark of `epsilon_zero`.",
    "public_records": "The measure of public records themselves, where they come next to guessing.",
    "public_records_releasable": "Always false: private records judged them.",
    "ceiling_releasable": "Always false.",
    "baselines": "Of tables: what simple baselines of the real rows come to.",
    "largest_class": "Of accuracies: the share of the held-out records' most frequent class.",
    "largest_class_releasable": "Always false.",
    "chance": "What guessing gives.",
    "better": "Which way is better.",
    "unit": "Its unit.",
    "note": "What else to know of the value.",
}
LIST = {
    "format": f"The text {archive.FORMAT!r}.",
    "note": "That the archive is private.",
    "key": "The key of the digests of records, of this archive alone.",
    "runs": "The runs, below.",
}
ARCHIVED = {
    "run": "Its row in the registry, with plan, status and times.",
    "terms": "How its job was carried out.",
    "ledger": "Its entries in the ledger, for training and for sampling.",
    "verdicts": "The verdicts that people gave.",
    "files": "Its files, each with `path`, `size` and `sha256`.",
    "digest": "The fingerprint of its records by the archive's key; empty where they could not be read.",
}
WRITTEN: dict[str, tuple[type[BaseModel], Mapping[str, str]]] = {
    "a privacy value": (PrivacyValue, VALUE),
    "a stage": (PlannedStage, STAGE),
    "card.json": (PrivacyCard, CARD),
    "a place in the ledger": (LedgerPlace, PLACE),
    "a dossier": (Dossier, DOSSIER),
    "a run in a dossier": (LedgerRow, ROW),
    "a measure in a dossier": (Measure, MEASURE),
    "a measure in a file of results": (MetricResult, METRIC),
    archive.LIST: (archive.Archive, LIST),
    "a run in an archive": (archive.ArchivedRun, ARCHIVED),
}


def formats_page() -> str:
    """What the workbench reads, then what it writes."""
    lines = ["# File formats", ""]
    for title, model in READ.items():
        lines += [f"## {title}", "", (model.__doc__ or "").strip(), "", *settings_table(model), ""]
    lines += ["## An export, as `workbench export` writes it", ""]
    lines += [f"A zip of the format `{export.FORMAT}` of these files and no other; `workbench verify` reads it.", ""]
    lines += [*rows_of(("file", "what is in it"), ((f"`{name}`", words) for name, words in EXPORT.items())), ""]
    lines += [*_keys("card.json"), *_keys("a place in the ledger")]
    lines += ["## A dossier, as `workbench dossier` writes it", ""]
    lines += [f"One HTML page. Its values stand as JSON between `{html.BEGIN}` and `{html.END}`.", ""]
    lines += [*_keys("a dossier"), *_keys("a run in a dossier"), *_keys("a measure in a dossier")]
    lines += ["## Results, as `workbench reproduce RECIPE --out FILE` writes them", ""]
    lines += ["JSON with the `recipe`, as above, and its `results`, one a run. A comparison's results are shorter: keys are left out.", ""]
    lines += [*rows_of(("key of a result", "meaning"), ((f"`{name}`", words) for name, words in RESULT.items())), ""]
    lines += _keys("a measure in a file of results")
    lines += ["## An archive, as `workbench archive` writes it", ""]
    lines += [f"A tar of the format `{archive.FORMAT}`. {archive.PRIVATE}", ""]
    lines += [*rows_of(("member", "what is in it"), ((f"`{name}`", words) for name, words in ARCHIVE.items())), ""]
    lines += [*_keys(archive.LIST), *_keys("a run in an archive")]
    lines += ["## What several of them hold", "", *_keys("a privacy value"), *_keys("a stage")]
    return "\n".join(lines)


def _keys(title: str) -> list[str]:
    """The keys of what a model writes, in its order, with their meanings."""
    model, meanings = WRITTEN[title]
    return [f"**{title}**", "", *rows_of(("key", "meaning"), ((f"`{name}`", meanings[name]) for name in model.model_fields)), ""]
