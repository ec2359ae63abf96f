"""The privacy card of an export: all that a recipient must know of a run, as plain values and as Markdown."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from workbench.escaping import markdown
from workbench.plan import Plan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.run import release_words

GROUPS = (2, 5)
NOT_AUDITED = "No audit has been run."
STATED = ("run", "seeded", "audited", "spent", "audit", "ledger", "measured")  # of a card's fields
ASSUMES = (
    "The noise comes from ChaCha20 under a key that the operating system drew and that was erased when the run was done. Every epsilon "
    "here is computational: it holds against adversaries who cannot tell that cipher from uniform bits.",
    "Noise is drawn in integers, exactly, on a grid, so that no last bit of a float tells of a record. One thing is assumed of DP-SGD: "
    "float32 rounds the sums of clipped gradients of neighboring batches apart by at most a share max(2^-14, batch size / 2^22) of the "
    "clipping norm, which the noise is widened for.",
    "Which records are training records, their number, and the names of classes and attributes are public.",
)
OUTSIDE = (
    "Choosing this run, or a checkpoint or settings for it, by a measure that looked at private records.",
    "What people saw beside the samples: nearest private records, measures against them, losses while training.",
    "Other runs on the same records: the place in the ledger tells what all of them come to.",
)


class LedgerPlace(BaseModel):
    """The run among all on the same records here: position by time, how many there are, and what all come to (zero-out relation)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    account: str
    position: int
    runs: int
    opened: str
    closed: str | None
    total: PrivacyValue


class PrivacyCard(BaseModel):
    """The three numbers of a run with all that they mean; `spent` is every release of training and sampling, at its count.

    `groups` are the bounds for somebody who has 2 or 5 records. `audit` is a measured lower bound, None where none is. `audited`: canaries
    were among the run's own records. `public` names the images taken to be public, one's own files with a digest of what was in them.
    `measured`: the run's samples have been compared with private records here, so that a choice among runs may rest on these. The fields
    of STATED are told by who exports, all others follow from these and the plan.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    workbench: str
    run: str
    method: str
    dataset: str
    num_records: int
    public: str
    releasable: bool
    seeded: bool
    audited: bool
    release_reason: str
    unit: str
    claim: PrivacyValue
    bound: PrivacyValue
    replace_one: PrivacyValue | None
    groups: dict[str, PrivacyValue]
    audit: PrivacyValue | None
    spent: tuple[PlannedStage, ...]
    ledger: LedgerPlace
    measured: bool
    assumes: tuple[str, ...]
    outside: tuple[str, ...]

    @classmethod
    def of(cls, plan: Plan, **stated: Any) -> Self:
        """The card of a run of `plan` of which the fields of STATED are known."""
        from workbench.privacy.accounting.bounds import proved_bound, replace_one_bound

        stages = [planned.stage for planned in stated["spent"]]
        bound = proved_bound(stages, plan.delta)
        marks: dict[str, bool] = {"seeded": stated["seeded"], "audited": stated["audited"]}
        releasable = not any(marks.values()) and bound.status == "proved" and bound.is_finite
        return cls(
            workbench=version("dp-diffusion-workbench"),
            method=plan.method,
            dataset=plan.facts.name,
            num_records=plan.num_records,
            public=plan.public_images,
            releasable=releasable,
            release_reason=release_words(bound, releasable, **marks),
            unit=unit_of(plan),
            claim=plan.claim,
            bound=bound,
            replace_one=replace_one_bound(stages, plan.delta),
            groups=group_bounds(plan, stated["spent"]),
            assumes=ASSUMES,
            outside=OUTSIDE,
            **stated,
        )

    @property
    def stated(self) -> dict[str, Any]:
        """What cannot be computed from the plan and the rest of the card."""
        return {name: getattr(self, name) for name in STATED}

    @property
    def markdown(self) -> str:
        """The card for people; whatever a stranger may have written is inert."""
        return "\n".join(_lines(self)) + "\n"


def unit_of(plan: Plan) -> str:
    """Whom the bound speaks of."""
    parts = ["its label"] * bool(plan.facts.classes) + ["its attributes"] * bool(plan.facts.attributes)
    whole = f"with {' and '.join(parts)}" if parts else "alone"
    if (persons := plan.facts.persons) is not None:
        rows = f"{persons.most_rows} of the rows" if persons.most_rows > 1 else "one of the rows"
        return (
            f"One person, as the column {persons.column} names them, with all that at most {rows} of each say, each {whole}; "
            f"{persons.number} persons take part. Other columns, other tables and other people are not spoken of."
        )
    return f"One training record {whole}. Somebody who has several is protected by the bounds for groups."


def group_bounds(plan: Plan, spent: tuple[PlannedStage, ...]) -> dict[str, PrivacyValue]:
    """The bound of what was spent for each size of `GROUPS`."""
    from workbench.privacy import group_bound

    return {str(size): group_bound([planned.stage for planned in spent], plan.delta, size) for size in GROUPS if spent}


def _lines(card: PrivacyCard) -> Iterator[str]:
    yield f"# Privacy card of run {card.run}"
    yield ""
    yield f"**{'May be released' if card.releasable else 'NOT PRIVATE'}.** {markdown(card.release_reason)}"
    if card.seeded:
        yield "The run is seeded: whoever knows the seed can remove the noise. **It is not releasable, whatever its bound says.**"
    yield ""
    yield f"{markdown(card.method)}, trained on {card.num_records} records of {markdown(card.dataset)}; made by version {card.workbench}."
    yield ""
    if card.public:
        yield f"Images taken to be public, which no bound covers: {markdown(card.public)}."
        yield ""
    yield "| number | epsilon | delta | status | neighboring relation | sampling |"
    yield "|---|---|---|---|---|---|"
    yield from (_row(name, value) for name, value in _values(card))
    yield ""
    yield from (f"- {name}: {markdown(value.reason)}" for name, value in _values(card) if value is not None and value.reason)
    yield f"- Unit of privacy: {markdown(card.unit)}"
    yield f"- {_place(card.ledger)}"
    yield f"- Its samples were {'' if card.measured else 'not '}compared with private records where it was made, as far as kept files tell."
    yield ""
    yield from _list_lines("What the guarantee assumes", card.assumes)
    yield from _list_lines("What no bound here covers", card.outside)


def _values(card: PrivacyCard) -> Iterator[tuple[str, PrivacyValue | None]]:
    yield "paper's claim", card.claim
    yield "proved upper bound", card.bound
    if card.replace_one is not None:
        yield "bound where one record is replaced", card.replace_one
    yield from ((f"bound for groups of {size}", value) for size, value in card.groups.items())
    yield "audit (lower bound)", card.audit


def _row(name: str, value: PrivacyValue | None) -> str:
    if value is None:
        return f"| {name} | - | - | {NOT_AUDITED} | - | - |"
    words = (value.neighboring_relation or "-", value.sampling or "-")
    return f"| {name} | {value.epsilon:.6g} | {value.delta:.6g} | {value.status} | {' | '.join(map(markdown, words))} |"


def _place(place: LedgerPlace) -> str:
    total = f"epsilon {place.total.epsilon:.6g} at delta {place.total.delta:.6g}, zero-out relation"
    return (
        f"Place in the ledger: number {place.position} of {place.runs} on {markdown(place.account)}, opened {place.opened}, "
        f"closed {place.closed or 'not yet'}; all of them together: {total}. {markdown(place.total.reason)}"
    )


def _list_lines(title: str, sentences: tuple[str, ...]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield from (f"- {markdown(sentence)}" for sentence in sentences)
    yield ""
