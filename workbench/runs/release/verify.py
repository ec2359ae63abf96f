"""The check of an export on any machine, without data: hashes, plan, bound, card, weights and samples against each other."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.plan import Plan
from workbench.records import Records
from workbench.runs.release.archive import CARD, CARD_TEXT, FORMAT, MANIFEST, PLAN, WEIGHTS, digest, read_archive, unpacked_arrays
from workbench.runs.release.card import PrivacyCard
from workbench.runs.release.export import LEFT_OUT, notes_of, restated_plan
from workbench.runs.release.statements import alike, difference_words, wrong_audit, wrong_bound, wrong_place, wrong_spending
from workbench.runs.run import check_run_id, release_words
from workbench.runs.sample_files import arrays_of, records_of
from workbench.runs.samples import cautions
from workbench.runs.samples.request import SamplesRequest
from workbench.serialization import jsonable

M = TypeVar("M", bound=BaseModel)
FROM_STRANGERS = (  # what code that is written for values of its own may raise on a stranger's
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


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
    content, members = read_archive(path)
    card, plan = read_model(PrivacyCard, CARD, members[CARD]), read_model(Plan, PLAN, members[PLAN])
    manifest, plan_digest = read_json(members[MANIFEST]), digest(members[PLAN])
    samples = sorted(name for name in members if name.startswith("samples/"))
    checks: dict[str, Callable[[], str]] = {
        "hashes": lambda: changed_files(members, manifest),
        "manifest": lambda: wrong_manifest(manifest),
        "plan": lambda: wrong_plan(plan),
        "bound": lambda: wrong_spending(card, plan, bool(samples)) or wrong_bound(card, plan, expected_card(card, plan).bound),
        "card": lambda: wrong_card(card, plan, members[CARD_TEXT]),
        "weights": lambda: wrong_weights(members[WEIGHTS], card, plan, plan_digest),
        **{name: lambda name=name: wrong_samples(name, members[name], card, plan, plan_digest) for name in samples},
    }
    return Verification(sha256=digest(content), card=card, checks={name: complaint_of(check) for name, check in checks.items()})


def changed_files(members: Mapping[str, bytes], manifest: Mapping[str, Any]) -> str:
    """Which files are not those that the manifest lists."""
    listed = manifest.get("files")
    if not isinstance(listed, dict):
        return "The manifest lists no files."
    digests = {name: digest(content) for name, content in members.items() if name != MANIFEST}
    differ = [name for name in sorted(digests.keys() | listed.keys()) if digests.get(name) != listed.get(name)]
    return f"Changed, added or missing: {', '.join(map(str, differ))}." if differ else ""


def wrong_manifest(manifest: Mapping[str, Any]) -> str:
    """What a manifest says, beside hashes, that no export of this format does."""
    if manifest.get("format") != FORMAT:
        return f"Expected the format {FORMAT!r}, got {str(manifest.get('format'))[:100]!r}."
    if set(manifest) != {"format", "files", "left_out"}:
        return "The manifest has other fields than format, files and left_out."
    return "" if manifest["left_out"] == LEFT_OUT else "What is said to stay is not what an export says."


def wrong_plan(plan: Plan) -> str:
    """What the plan says that does not follow from its configuration and its dataset's facts, or was not asked for."""
    plan.check()
    now = restated_plan(plan)
    for name in Plan.model_fields:
        if name != "warnings" and (wrong := difference_words(f"plan's {name}", *(_plain(name, of) for of in (plan, now)))):
            return wrong
    if set(now.warnings) - set(plan.warnings):
        return "The plan lacks a warning that belongs to it."
    return wrong_request(plan)


def wrong_request(plan: Plan) -> str:
    """What was asked for that the plan is not."""
    request, config = plan.request.edited(), plan.build().config.model_dump(mode="json")
    if request != plan.request:
        return "The plan's request is not in its normal form."
    for name, value in request.settings.items():
        if value is not None and not alike(_value_at(config, name), value):
            return f"{name} was asked to be {value!r}, and is {_value_at(config, name)!r} in the plan."
    if request.delta not in (None, plan.delta):
        return f"A delta of {request.delta:g} was asked for, and the plan is at {plan.delta:g}."
    met = plan.claim if request.target == "claim" else plan.bound
    if request.epsilon is not None and not met.epsilon <= request.epsilon * (1 + 1e-6):
        return f"An epsilon of {request.epsilon:g} was asked for, and the plan's {request.target} is {met.epsilon:.6g}."
    return ""


def expected_card(card: PrivacyCard, plan: Plan) -> PrivacyCard:
    """The card as it follows from the plan and what it states."""
    return PrivacyCard.of(plan, **card.stated)


def wrong_card(card: PrivacyCard, plan: Plan, text: bytes) -> str:
    """What the card says that does not follow from the plan and what was spent; the bound is checked by itself."""
    check_run_id(card.run)
    now = expected_card(card, plan)
    if card.workbench != now.workbench:
        return (
            f"It says that version {card.workbench} made it, and {now.workbench} checks it here. Verify it with the version that made it."
        )
    words = release_words(card.bound, now.releasable, card.seeded, card.audited)
    now = now.model_copy(update={"bound": card.bound, "release_reason": words})
    for name in PrivacyCard.model_fields:
        if wrong := difference_words(NAMES.get(name, name), getattr(card, name), getattr(now, name)):
            return wrong
    if wrong := wrong_audit(card, plan) or wrong_place(card, plan):
        return wrong
    return "" if text == card.markdown.encode() else "Its text (card.md) does not say what its values (card.json) say."


NAMES = {"replace_one": "bound where one record is replaced", "groups": "bounds for groups"}  # of a card's fields, in words


def wrong_weights(content: bytes, card: PrivacyCard, plan: Plan, plan_digest: str) -> str:
    """What keeps the weights from being those of a run of the plan."""
    from workbench.runs.release.weights import misfit, unpacked_tensors

    tensors, about = unpacked_tensors(content)
    if about != {"run": card.run, "plan": plan_digest}:
        return "They were written beside another plan or run."
    return misfit(tensors, plan)


def wrong_samples(name: str, content: bytes, card: PrivacyCard, plan: Plan, plan_digest: str) -> str:
    """What keeps a file of samples from being such of the plan's schema, written beside this card."""
    arrays = unpacked_arrays(content)
    notes, records = read_json(str(arrays["notes"]).encode()), records_of(arrays)
    request = read_model(SamplesRequest, "the request in the notes", json.dumps(notes.get("request")).encode())
    request.method(plan)
    if name != f"samples/{request.id}.npz":
        return f"They were asked for as the set {request.id}."
    measures = cautions.measures_in(notes)
    if measures is None:
        return "Their notes give a likeness to the public prior, or a share of noise, that is no number."
    if notes != jsonable(notes_of(request, card, plan_digest) | cautions.cautions_and_numbers(plan, request, records, measures)):
        return "Their notes are of another plan or run, or tell another bound."
    check_samples(records, plan)
    expected = arrays_of(records, notes, plan.facts)
    same = {key: key in arrays and _same_array(arrays[key], expected[key]) for key in expected if key != "notes"}
    wrong = [*(key for key, agrees in same.items() if not agrees), *(arrays.keys() - expected.keys())]
    return f"Its array {wrong[0]!r} is not that of the plan's records." if wrong else ""


def check_samples(records: Records, plan: Plan) -> None:
    """Refuse records that are not of the plan's schema."""
    own = {name: plan.facts.attributes[name] for name in records.attributes if name in plan.facts.attributes}
    plan.facts.model_copy(update={"num_records": len(records), "attributes": own}).check(records)


def _same_array(one: Any, other: Any) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())


def _plain(name: str, plan: Plan) -> Any:
    """A field of a plan as it is written; of the sampling's, which is None where nothing is spent, too."""
    return getattr(plan, name) if name in ("claim", "bound") else jsonable(getattr(plan, name))


def _value_at(config: Mapping[str, Any], name: str) -> Any:
    for part in name.split("."):
        config = config[part]
    return config


def complaint_of(check: Callable[[], str]) -> str:
    """What a check says, or why it could not be carried out on what the file holds."""
    try:
        return check()
    except WorkbenchError as error:
        return str(error) or "It does not hold."
    except FROM_STRANGERS as error:
        return f"It cannot be computed from what the file says ({type(error).__name__}: {str(error)[:200]})."


def read_model(model: type[M], name: str, content: bytes) -> M:
    """A member of an export as a value; raises WorkbenchError for what is none."""
    document = read_json(content)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise WorkbenchError(f"Expected {name} as `workbench export` writes it, got {first_complaint(error)}") from None
    except FROM_STRANGERS as error:
        raise WorkbenchError(f"Expected {name} as `workbench export` writes it, got {type(error).__name__}: {str(error)[:200]}.") from None


def read_json(content: bytes) -> dict[str, Any]:
    """A member of an export as a JSON object; raises WorkbenchError for what is none."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise WorkbenchError(f"Expected JSON in the export, got {error}.") from None
    if not isinstance(value, dict):
        raise WorkbenchError(f"Expected a JSON object in the export, got {type(value).__name__}.")
    return value
