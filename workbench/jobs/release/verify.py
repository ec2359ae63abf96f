"""The check of an export on any machine, without data: hashes, plan, bound, card, weights and samples against each other."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.datasets.arrays import read_headers
from workbench.errors import WorkbenchError, first_complaint
from workbench.jobs.release.archive import CARD, CARD_TEXT, MANIFEST, PLAN, WEIGHTS, digest, read_archive
from workbench.jobs.release.card import PrivacyCard, group_bounds, unit_of
from workbench.jobs.sample_files import read_notes, read_records
from workbench.plan import ROUNDING, Plan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records

M = TypeVar("M", bound=BaseModel)


class Verification(BaseModel):
    """What became of each check: empty words where it held, else what did not. `sha256` is of the whole file.

    Whoever changes everything alike makes another export, which holds too: compare `sha256` with what the sender says.
    """

    model_config = ConfigDict(frozen=True)

    sha256: str
    card: PrivacyCard
    checks: dict[str, str]

    @property
    def holds(self) -> bool:
        """Whether every check held."""
        return not any(self.checks.values())


def verify(path: Path) -> Verification:
    """Check an export; raises WorkbenchError where it cannot be read at all."""
    members = read_archive(path)
    card, plan = _read(PrivacyCard, CARD, members[CARD]), _read(Plan, PLAN, members[PLAN])
    manifest = _json(members[MANIFEST])
    checks: dict[str, Callable[[], str]] = {
        "hashes": lambda: changed(members, manifest),
        "plan": lambda: _refusal(plan.check),
        "bound": lambda: wrong_bound(card, plan, any(name.startswith("samples/") for name in members)),
        "card": lambda: wrong_card(card, plan, members[CARD_TEXT]),
        "weights": lambda: wrong_weights(members[WEIGHTS], plan, digest(members[PLAN])),
    }
    for name in sorted(members):
        if name.startswith("samples/"):
            checks[name] = lambda name=name: wrong_samples(members[name], card, plan, digest(members[PLAN]))
    return Verification(sha256=digest(path.read_bytes()), card=card, checks={name: check() for name, check in checks.items()})


def changed(members: Mapping[str, bytes], manifest: Mapping[str, Any]) -> str:
    """Which files are not those that the manifest lists."""
    listed = manifest.get("files")
    if not isinstance(listed, dict):
        return "The manifest lists no files."
    found = {name: digest(content) for name, content in members.items() if name != MANIFEST}
    differ = [name for name in sorted(found.keys() | listed.keys()) if found.get(name) != listed.get(name)]
    return f"Changed, added or missing: {', '.join(map(str, differ))}." if differ else ""


def wrong_bound(card: PrivacyCard, plan: Plan, has_samples: bool) -> str:
    """What is wrong with the card's bound: it is that of all that was spent, which is at least what the plan releases."""
    from workbench.privacy import proved_bound

    drawn = {stage.name for stage in card.spent}
    missing = [stage.name for stage in plan.sampling_stages if has_samples and stage.name not in drawn]
    if missing:
        return f"{missing[0]} is what drawing samples spends, and there are samples; the card says nothing of it."
    for planned in plan.releases:
        steps = sum(stage.steps for stage in card.spent if _is_step_of(stage, planned))
        if planned.spent != "free" and steps < planned.steps:
            return f"{planned.name} is planned with {planned.steps} steps, and {steps} of them are on the card."
    return _differs("bound", card.bound, proved_bound([stage.stage for stage in card.spent], plan.delta))


def wrong_card(card: PrivacyCard, plan: Plan, text: bytes) -> str:
    """What the card says that does not follow from plan and bound."""
    facts = {"dataset": plan.facts.name, "num_records": plan.num_records, "method": plan.method, "unit": unit_of(plan)}
    for name, value in facts.items():
        if getattr(card, name) != value:
            return f"{name} is {value!r} in the plan and {getattr(card, name)!r} on the card."
    if card.releasable and (card.seeded or card.bound.status != "proved" or not card.bound.is_finite):
        return "It calls itself releasable, and is seeded or without a finite proved bound."
    if card.audit is not None and card.audit.epsilon > card.bound.epsilon:
        return f"An audit measured {card.audit.epsilon:.4g}, above its bound of {card.bound.epsilon:.4g}."
    if wrong := _differs("claim", card.claim, plan.claim):
        return wrong
    if wrong := wrong_replace_one(card, plan):
        return wrong
    groups = group_bounds(plan, card.spent)
    if groups.keys() != card.groups.keys():
        return f"It has bounds for groups of {', '.join(card.groups) or 'no size'} and not of {', '.join(groups) or 'none'}."
    for size, value in groups.items():
        if wrong := _differs(f"bound for groups of {size}", card.groups[size], value):
            return wrong
    return "" if text == card.markdown.encode() else "Its text (card.md) does not say what its values (card.json) say."


def wrong_replace_one(card: PrivacyCard, plan: Plan) -> str:
    """What is wrong with the bound where one record is replaced: a card may go without, and has no other than that of what was spent."""
    from workbench.privacy.accounting.bounds import replace_one_bound

    if card.replace_one is None:
        return ""
    found = replace_one_bound([stage.stage for stage in card.spent], plan.delta)
    if found is None:
        return "It has a bound where one record is replaced, and what was spent has none."
    return _differs("bound where one record is replaced", card.replace_one, found)


def wrong_weights(content: bytes, plan: Plan, plan_digest: str) -> str:
    """What keeps the weights from being those of a run of the plan."""
    from workbench.jobs.release.weights import misfit, unpacked

    try:
        tensors, about = unpacked(content)
        if about.get("plan") != plan_digest:
            return "They were written beside another plan."
        return misfit(tensors, plan)
    except (WorkbenchError, RuntimeError, MemoryError) as error:
        return str(error) or "They do not go into memory."


def wrong_samples(content: bytes, card: PrivacyCard, plan: Plan, plan_digest: str) -> str:
    """What keeps a file of samples from being such of the plan's schema, written beside this card."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npz"
        path.write_bytes(content)
        try:
            read_headers(path)
            records, notes = read_records(path), read_notes(path)
        except WorkbenchError as error:
            return str(error).replace(str(path), "the file")
    if notes.get("plan") != plan_digest or notes.get("run") != card.run:
        return "They were written beside another plan or run."
    if PrivacyValue.model_validate(notes.get("bound")) != card.bound or notes.get("releasable") is not card.releasable:
        return "Their notes tell another bound."
    return _refusal(lambda: check_samples(records, plan))


def check_samples(records: Records, plan: Plan) -> None:
    """Refuse records that are not of the plan's schema."""
    plan.facts.model_copy(update={"num_records": len(records), "attributes": {}}).check(Records(records.records, records.labels))


def _is_step_of(spent: PlannedStage, planned: PlannedStage) -> bool:
    """Whether what was spent is steps of a planned stage, with no less said of its sampler."""
    share = spent.steps / max(1, planned.steps)
    same = (spent.name, spent.event, set(spent.relations)) == (planned.name, planned.event, set(planned.relations))
    return same and spent.sampler_distance >= planned.sampler_distance * share * (1 - ROUNDING)


def _differs(what: str, shown: PrivacyValue, found: PrivacyValue) -> str:
    """How a number on the card differs from the one that was computed here, in either direction."""
    close = shown.epsilon == found.epsilon or abs(shown.epsilon - found.epsilon) <= max(ROUNDING, 1e-6 * abs(found.epsilon))
    named = ("status", "neighboring_relation", "delta")
    differ = [name for name in named if getattr(shown, name) != getattr(found, name)]
    if close and not differ:
        return ""
    return (
        f"The {what} is epsilon {found.epsilon:.6g} ({found.status}) by what was spent; the card says {shown.epsilon:.6g} ({shown.status})."
    )


def _refusal(check: Callable[[], object]) -> str:
    try:
        check()
    except WorkbenchError as error:
        return str(error)
    return ""


def _read(model: type[M], name: str, content: bytes) -> M:
    try:
        return model.model_validate(_json(content))
    except ValidationError as error:
        raise WorkbenchError(f"Expected {name} as `workbench export` writes it, got {first_complaint(error)}") from None


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise WorkbenchError(f"Expected JSON in the export, got {error}.") from None
    if not isinstance(value, dict):
        raise WorkbenchError(f"Expected a JSON object in the export, got {type(value).__name__}.")
    return value
