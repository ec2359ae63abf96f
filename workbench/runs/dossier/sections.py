"""The sections of a dossier, in the order of NIST SP 800-226: what the workbench knows first, what people have said below it."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.marks import mark
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.dossier.figures import axis_picture, legend, number, profile_picture
from workbench.runs.dossier.pieces import answer, fields, heading_html, list_html, paragraph, picture_or_text, table
from workbench.runs.dossier.questions import QUESTIONS, SECTIONS
from workbench.runs.dossier.values import Dossier, Measure

ONE_NUMBER_HIDES = (
    "One epsilon at one delta does not tell two mechanisms apart; the whole curve does. The mu of a delta is that of the Gaussian "
    "mechanism with the same epsilon there."
)
NEIGHBORS = {
    "REPLACE_SPECIAL": "Two data sets are neighbors if one record of the first is a null record in the second (replace special).",
    "REPLACE_ONE": "Two data sets are neighbors if one record of the first is another one in the second (replace one).",
    "ADD_OR_REMOVE_ONE": "Two data sets are neighbors if one of them has a record more than the other (add or remove one).",
}
TESTED = (
    "The tests of this version run the training of every method, record its batches, clipped sums and noise, and compare rate, noise, "
    "clipping, divisor and freshness with the releases that the bound is computed from. Formulas are compared with independent "
    "implementations, and changes to the code that could weaken the bound are checked to make a test fail."
)
TIMING = (
    "Files that leave tell days and no times: how long a run took would tell how large its batches were. Whoever could watch the machine "
    "while it trained is not covered."
)
TUNING = "Choosing among runs by results on private records is not covered by any bound here; the ledger lists every run that was tried."
UNPROTECTED = "Which records are training records, their number, and the names of classes and attributes"
WORST_CLASS = "worst_class_logistic_regression"
NO_WORST_CLASS = (
    f"The class that is served worst is not among the measures here: workbench evaluate RUN --metric {WORST_CLASS} measures it."
)
NO_MEASURE = "No measure of the samples may be released, or none was taken."
TRUST = "Central: whoever runs this workbench sees the records. What leaves is protected by the bound, and nothing else is."


def guarantee(dossier: Dossier) -> Iterator[str]:
    """Unit, neighbors, epsilon and delta; the three numbers on one axis; the whole profile."""
    card = dossier.card
    yield fields(
        {
            "Unit of privacy": card.unit,
            "Neighboring data sets": NEIGHBORS.get(card.bound.neighboring_relation, "None is stated."),
            "Protected": _protected(dossier.num_protected, card.num_records),
            "Delta": f"{number(card.bound.delta)}; 1/n is {number(1 / dossier.num_protected)}, 1/n² is {number(dossier.num_protected**-2)}",
            "Status": f"{card.bound.status.replace('_', ' ')}{f', by {card.bound.accountant}' if card.bound.accountant else ''}",
        }
    )
    yield f'<div class="question">{axis_picture(dossier)}</div>'
    yield table("Claim, proved bound and audit, and the bounds for somebody with several records", _HEAD, map(_value_row, numbers(dossier)))
    reasons = [f"{name}: {value.reason}" for name, value in numbers(dossier) if value is not None and value.reason]
    yield list_html(dict.fromkeys(reasons))
    rates = [(rate, number(best)) for rate, best in dossier.best_attack.items()]
    yield table("What any attack on one record can reach, by the profile below", ["false positives", "true positives at most"], rates)
    profile = dossier.profile
    mu = "none" if profile.mu is None else f"{number(profile.mu)} ({profile.mu_is})"
    yield heading_html("The whole privacy profile", 3)
    yield paragraph(f"mu of Gaussian differential privacy: {mu}. {profile.mu_reason}")
    yield paragraph(ONE_NUMBER_HIDES)
    yield profile_picture(profile)
    head = ["delta", "proved epsilon", *(legend(profile, name) for name in ACCOUNTANTS), "mu at this delta"]
    rows = [
        (number(at.delta), number(at.bound), *(number(at.accountants.get(name)) for name in ACCOUNTANTS), number(at.mu))
        for at in profile.points
    ]
    yield table("Epsilon at each delta", head, rows)


def numbers(dossier: Dossier) -> list[tuple[str, PrivacyValue | None]]:
    """Every epsilon of the card by what it is."""
    card = dossier.card
    replaced = [("bound where one record is replaced", card.replace_one)] if card.replace_one is not None else []
    groups = [(f"bound for somebody with {size} records", value) for size, value in card.groups.items()]
    named = [("paper's claim", card.claim), ("proved upper bound", card.bound), *replaced, *groups]
    return [*named, ("audit, a lower bound", card.audit)]


def algorithm(dossier: Dossier) -> Iterator[str]:
    """The method, what it releases, its settings, and how its correctness is checked."""
    card = dossier.card
    yield fields({"Method": f"{dossier.title} ({card.method})", "Source": dossier.source, "Preset": dossier.preset})
    rows = [
        (stage.name, f"{stage.steps:,}", stage.spent.replace("_", " "), stage.sampling or "–", stage.reason or "–") for stage in card.spent
    ]
    yield table("What was released, and is paid for", ["release", "times", "spends", "sampling", "why the event describes it"], rows)
    yield paragraph(TESTED)
    yield heading_html("What the guarantee assumes", 3)
    yield list_html(card.assumes)
    yield table("Every setting that the guarantee depends on", ["setting", "value"], settings(dossier.config))
    yield heading_html("What is public, and unprotected", 3)
    public = f"the images {card.public}, which no bound covers" if card.public else "no images were taken to be public"
    yield paragraph(f"{UNPROTECTED}; {public}.")


def utility(dossier: Dossier) -> Iterator[str]:
    """What was measured of the samples, with the mark of each number; what is withheld."""
    rows = [_measure_row(one) for one in dossier.measures]
    if rows:
        yield table("Measures of the samples", ["measure", "value", "95 %", "real records", "no private record", "better", "mark"], rows)
    else:
        yield paragraph(NO_MEASURE)
    if dossier.withheld:
        yield paragraph(f"{dossier.withheld} measures are left out: each looked at private records without noise.")
    yield from (paragraph(caution, "warning") for caution in dossier.cautions)
    classes = f"The classes are {', '.join(dossier.classes)}. " if dossier.classes else ""
    has_worst_class = any(one.name == WORST_CLASS for one in dossier.measures)
    yield paragraph(
        f"{classes}A bound holds for every record alike, and noise hides small groups first: how large each is is private, and a measure "
        "over all records does not tell of them. "
        + ("The class that is served worst is among the measures; groups within a class are not." if has_worst_class else NO_WORST_CLASS)
    )


def access(dossier: Dossier) -> Iterator[str]:
    """Trust model, floating point, timing, tuning, and what no bound covers."""
    card = dossier.card
    looked = "were" if card.measured else "were not"
    yield fields(
        {
            "Trust model": TRUST,
            "Floating point": card.assumes[1],
            "Randomness": card.assumes[0],
            "Timing": TIMING,
            "Tuning": f"{TUNING} Samples of this run {looked} compared with private records here, as far as kept files tell.",
            "Interaction": "None: what is released is a file.",
        }
    )
    yield heading_html("What no bound here covers", 3)
    yield list_html(card.outside)


def collection(dossier: Dossier) -> Iterator[str]:
    """What people have said of how the records came together, which the workbench cannot know."""
    yield paragraph(f"{dossier.card.num_records:,} training records ({dossier.kind}) of {dossier.card.dataset}.")


def signature(dossier: Dossier) -> Iterator[str]:
    """The line to sign on."""
    yield paragraph(f"This dossier has the SHA-256 {dossier.digest}.", "hash")
    yield '<p class="line">Signature</p>'


def ledger(dossier: Dossier) -> Iterator[str]:
    """Every run on these records, and what all come to."""
    place, total = dossier.card.ledger, dossier.card.ledger.total
    yield paragraph(
        f"Run {place.position} of {place.runs} on the account {place.account}. All of them together: epsilon {number(total.epsilon)} at "
        f"delta {number(total.delta)} ({total.status.replace('_', ' ')}, zero-out relation). {total.reason}"
    )
    rows = [
        (row.run, row.method, row.purpose, row.opened, row.closed or "may still spend", _at(row.alone), row.public or "none")
        for row in dossier.ledger
    ]
    yield table("Every run that was tried", ["run", "method", "purpose", "opened", "closed", "epsilon alone", "public images"], rows)


def files(dossier: Dossier) -> Iterator[str]:
    """The hashes of the export that belongs to the dossier."""
    yield paragraph("`workbench verify EXPORT --dossier THIS` checks that the numbers here are those of these files; no data is needed.")
    yield table("SHA-256 of the files of the export", ["file", "SHA-256"], dossier.files.items())


def room(dossier: Dossier) -> Iterator[str]:
    """What may not leave: verdicts, findings of attacks, the samples nearest to training records."""
    part = dossier.room
    if part is None:
        return
    yield paragraph("Private: this part shows training records, or numbers that saw them without noise. Do not share it.", "warning")
    rows = [(name, *(str(counts.get(word, 0)) for word in _VERDICTS)) for name, counts in part.verdicts.items()]
    yield table("Verdicts of people who looked", ["samples", *_VERDICTS], rows) if rows else paragraph("Nobody has given a verdict yet.")
    if part.reviewers:
        yield paragraph(f"Reviewers: {', '.join(part.reviewers)}.")
    said = [(one.name, one.words) for one in part.findings]
    yield table("What attacks and audits found", ["attack", "found"], said) if said else paragraph("No attack has been made on this run.")
    if not part.gallery:
        yield paragraph("No neighbors were searched: open the Gallery page, or `workbench neighbours`.")
    for card in part.gallery:
        yield f'<div class="card">{"".join(_gallery_card(card))}</div>'


def _gallery_card(card: Any) -> Iterator[str]:
    verdict = f", verdict {card.verdict}" if card.verdict else ""
    yield paragraph(f"Sample {card.sample}, suspicion {card.suspicion:.2f}{verdict}")
    shown = [("generated", card.generated, "")]
    shown += [
        (f"training {place}", one, number(far)) for place, (one, far) in enumerate(zip(card.training, card.distances, strict=True), 1)
    ]
    shown.append(("held-out", card.held_out, number(card.held_out_distance)))
    for name, one, far in shown:
        alt = f"{name} record of sample {card.sample}{f' at distance {far}' if far else ''}"
        yield f"<figure>{picture_or_text(one, alt)}<figcaption>{name} {far}</figcaption></figure>"


PARTS = {
    "guarantee": guarantee,
    "algorithm": algorithm,
    "utility": utility,
    "access": access,
    "collection": collection,
}
LAST = {"Every run that was tried on these records": ledger, "Files and hashes": files}


def body(dossier: Dossier) -> Iterator[str]:
    """All sections in their order."""
    for section, part in PARTS.items():
        yield heading_html(SECTIONS[section])
        yield from part(dossier)
        yield from questions(dossier, section)
    for title, part in LAST.items():
        yield heading_html(title)
        yield from part(dossier)
    if dossier.room is not None:
        yield heading_html("Private: do not share")
        yield from room(dossier)
    yield heading_html(SECTIONS["signature"])
    yield from questions(dossier, "signature")
    yield from signature(dossier)


def questions(dossier: Dossier, section: str) -> Iterator[str]:
    """The questions of a section with what people have said."""
    for key, question in QUESTIONS.items():
        if question.section == section:
            yield answer(question.asks, dossier.answers.get(key, ""))


def settings(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """A configuration as rows, nested settings by dotted name."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from settings(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", number(value) if isinstance(value, float) else str(value)


def _protected(protected: int, records: int) -> str:
    return f"{records:,} records (n)" if protected == records else f"{protected:,} (n), who have {records:,} records"


def _at(value: PrivacyValue) -> str:
    return f"{number(value.epsilon)} at {number(value.delta)}"


_HEAD = ["number", "epsilon", "delta", "status", "neighbors", "sampling"]
_VERDICTS = ("copied", "similar", "fine", "unsure")


def _value_row(named: tuple[str, PrivacyValue | None]) -> tuple[str, ...]:
    name, value = named
    if value is None:
        return name, "–", "–", "no audit may be told", "–", "–"
    relation = value.neighboring_relation.lower().replace("_", " ")
    if value.status == "not_evaluated":
        return name, "–", "–", "not evaluated", "–", "–"
    return name, number(value.epsilon), number(value.delta), value.status.replace("_", " "), relation or "–", value.sampling or "–"


def _measure_row(one: Measure) -> tuple[str, ...]:
    interval = "–" if one.low is None else f"{number(one.low)} to {number(one.high)}"
    better = f"{one.better}{f', {one.unit}' if one.unit else ''}"
    numbers_ = (number(one.value), interval, number(one.ceiling), number(one.epsilon_zero))
    return (f"{one.title} ({one.num_samples:,} samples)", *numbers_, better, mark(one.releasable))
