"""Every field of a card, of its place in the ledger and of the manifest is forged: what follows from something is found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.homes import here

from workbench.errors import WorkbenchError
from workbench.plan import Plan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.folder import RunFolder
from workbench.runs.release import export_run, verify
from workbench.runs.release.archive import CARD, CARD_TEXT, MANIFEST, PLAN, WEIGHTS, digest, read_archive, write_archive
from workbench.runs.release.card import LedgerPlace, PrivacyCard
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.tasks import worker

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]
Forge = Callable[[dict[str, Any]], None]


@pytest.fixture
def exported(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> Path:
    """A run with samples as a file; it is number 2 of 2 on its account."""
    train_here(quick_plan())
    run = train_here(quick_plan())
    sample_set(here(), run.id).records(10)
    export_run(here(), run.id, tmp_path / "run.zip")
    return tmp_path / "run.zip"


def at(path: str, value: Any) -> Forge:
    """Set the value at a dotted path of a document; a callable makes it from the one that is there."""

    def change(document: Any) -> None:
        *outer, last = path.split(".")
        for part in outer:
            document = document[int(part) if isinstance(document, list) else part]
        document[last] = value(document.get(last)) if callable(value) else value

    return change


def forged(path: Path, name: str, change: Forge) -> dict[str, str]:
    """What is found of an export whose member `name` was changed, and all that can be renewed was renewed with it."""
    _, members = read_archive(path)
    document = json.loads(members[name])
    change(document)
    members[name] = json.dumps(document).encode()
    if name == CARD and all(stage["steps"] >= 0 for stage in document["spent"]):
        members[CARD_TEXT] = PrivacyCard.model_validate(document).markdown.encode()
    if name != MANIFEST:
        manifest = json.loads(members[MANIFEST])
        manifest["files"] = {file: digest(content) for file, content in members.items() if file != MANIFEST}
        members[MANIFEST] = json.dumps(manifest).encode()
    other = path.with_name("forged.zip")
    write_archive(other, members)
    return {check: complaint for check, complaint in verify(other).checks.items() if complaint}


def times(factor: float) -> Callable[[float], float]:
    return lambda value: value * factor


VALUE: dict[str, Any] = {
    "epsilon": times(0.9),
    "delta": times(0.9),
    "status": "approximation",
    "accountant": "an oracle",
    "neighboring_relation": "ADD_OR_REMOVE_ONE",
    "sampling": "without looking",
    "reason": "Everybody is safe.",
    "source": "a friend",
}
UNKNOWABLE = {"seeded", "measured"}  # what only the exporter's home knows; `seeded` is found all the same, by what else says so
OF_CARD: dict[str, Any] = {
    "workbench": "9.9.9",
    "run": "abcdefgh",
    "method": "ddm",
    "dataset": "mnist",
    "num_records": times(2),
    "public": "photographs of nobody",
    "releasable": False,
    "seeded": True,
    "audited": True,
    "release_reason": "It is safe for everybody.",
    "unit": "A household.",
    "claim.epsilon": times(0.9),
    "bound.epsilon": times(0.9),
    "replace_one": None,
    "groups.5.epsilon": times(0.9),
    "audit": {"epsilon": 0.5, "delta": 0.1, "status": "measured", "source": "audit of run abcdefgh", "reason": "x"},
    "spent.0.steps": 0,
    "ledger.position": 3,
    "assumes": ["Nothing."],
    "outside": [],
}
OF_LEDGER: dict[str, Any] = {
    "account": "mnist",
    "position": 0,
    "runs": 1,
    "opened": "yesterday",
    "closed": "2001-01-01",
    "total.epsilon": times(0.5),
    "total.delta": times(2),
    "total.status": "measured",
    "total.neighboring_relation": "REPLACE_ONE",
    "total.reason": "Nothing else was spent.",
}
OF_SPENT: dict[str, Any] = {
    "name": "another",
    "event.noise_multiplier": times(2),
    "spent": "per_step",
    "steps": 0,
    "relations": ["REPLACE_ONE"],
    "sampling": "none",
    "reason": "It is public.",
    "sampler_distance": 0.5,
}


def test_no_field_is_forgotten() -> None:
    assert {name.partition(".")[0] for name in OF_CARD} | UNKNOWABLE == set(PrivacyCard.model_fields)
    assert {name.partition(".")[0] for name in OF_LEDGER} == set(LedgerPlace.model_fields)
    assert set(VALUE) == set(PrivacyValue.model_fields)


def test_every_forged_field_of_a_card_is_found(exported: Path) -> None:
    assert verify(exported).holds
    everything = {
        **OF_CARD,
        **{f"ledger.{name}": value for name, value in OF_LEDGER.items()},
        **{f"spent.0.{name}": value for name, value in OF_SPENT.items()},
        **{f"{which}.{name}": value for which in ("bound", "claim", "replace_one", "groups.2") for name, value in VALUE.items()},
    }
    del everything["run"]  # weights and samples name it, as below
    missed = [name for name, value in everything.items() if not forged(exported, CARD, at(name, value)).keys() & {"card", "bound"}]
    assert missed == []
    assert forged(exported, CARD, at("run", OF_CARD["run"])).keys() == {"weights", "samples/default.npz"}
    assert forged(exported, CARD, at("measured", True)) == {}  # nobody else can know


def test_a_total_of_one_run_is_that_of_the_run(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> None:
    path = tmp_path / "one.zip"
    export_run(here(), train_here(quick_plan()).id, path)
    assert verify(path).holds
    for name, value in VALUE.items():
        assert forged(path, CARD, at(f"ledger.total.{name}", value)).keys() == {"card"}, name
    assert forged(path, CARD, at("ledger.total.epsilon", times(1.5))).keys() == {"card"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "release 2"),
        ("remark", "safe"),
        ("left_out", {}),
        ("left_out.model.pt", "was never there"),
        ("left_out.the noise key", "kept"),
        ("left_out.metrics.jsonl", "public"),
        ("left_out.previews/120.png", "made while training; samples take their place"),
    ],
)
def test_a_forged_manifest_is_found(field: str, value: Any, exported: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        outer, _, inner = field.partition(".")
        if inner:
            manifest[outer][inner] = value
        else:
            manifest[outer] = value

    assert forged(exported, MANIFEST, change).keys() == {"manifest"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accountants.pld", times(0.5)),
        ("replace_one", None),
        ("releases.0.reason", "It is public."),
        ("request.settings.num_features", 10),
        ("request.epsilon", 1.0),
        ("request.epsilon", times(0.9)),
        ("request.delta", 0.01),
        ("request.preset", "another"),
        ("claim.source", "a friend"),
        ("config.noise_multiplier", times(2)),
        ("bound.epsilon", times(1.01)),
    ],
)
def test_a_forged_plan_is_found(field: str, value: Any, exported: Path) -> None:
    assert "plan" in forged(exported, PLAN, at(field, value))


def test_a_stage_that_the_plan_does_not_have_is_found(exported: Path) -> None:
    with pytest.raises(WorkbenchError, match=r"spent\.1\.steps"):
        forged(exported, CARD, at("spent", lambda spent: [*spent, {**spent[0], "name": "more", "steps": -1}]))
    assert "bound" in forged(exported, CARD, at("spent", lambda spent: [*spent, {**spent[0], "name": "more"}]))


def test_weights_of_another_run_are_found(exported: Path, quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan())
    export_run(here(), run.id, exported.with_name("other.zip"))
    (_, members), (_, others) = read_archive(exported), read_archive(exported.with_name("other.zip"))
    assert members[PLAN] == others[PLAN]
    members[WEIGHTS] = others[WEIGHTS]
    manifest = json.loads(members[MANIFEST])
    manifest["files"][WEIGHTS] = digest(members[WEIGHTS])
    members[MANIFEST] = json.dumps(manifest).encode()
    write_archive(exported, members)
    assert {name for name, complaint in verify(exported).checks.items() if complaint} == {"weights"}


def test_an_audited_run_is_told_as_such(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> None:
    from workbench.privacy.attacks.canaries import AuditDesign

    run = train_here(quick_plan(), audit=AuditDesign(num_canaries=20, kind="patterns", seed=0))
    with pytest.raises(WorkbenchError, match="canaries were among its records"):
        export_run(here(), run.id, tmp_path / "run.zip")
    export_run(here(), run.id, tmp_path / "run.zip", not_private=True)
    checked = verify(tmp_path / "run.zip")
    assert (checked.holds, checked.card.audited, checked.card.releasable) == (True, True, False)
    assert forged(tmp_path / "run.zip", CARD, at("audited", False)).keys() == {"card"}


def test_a_run_whose_ledger_is_gone_is_not_exported(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> None:
    """Rows of a ledger that took another's place say too little, and no bound is made of them."""
    run, other = train_here(quick_plan()), tmp_path / "ledger.sqlite"
    for suffix in ("", "-wal", "-shm"):
        if (file := Path(f"{here().ledger}{suffix}")).exists():
            file.rename(f"{other}{suffix}")
    for _ in range(2):  # the first try makes an empty ledger, which the second one finds
        with pytest.raises(WorkbenchError, match="the ledger was moved away or replaced"):
            export_run(here(), run.id, tmp_path / "run.zip", not_private=True)
    assert not (tmp_path / "run.zip").exists()
    train_here(quick_plan())  # on the same account: rows of another run
    with pytest.raises(WorkbenchError, match="the ledger was moved away or replaced"):
        export_run(here(), run.id, tmp_path / "run.zip")


def test_a_bound_of_steps_counted_twice_outlives_the_ledger_that_counted_them(quick_plan: PlanMaker, queue: Make) -> None:
    """A crash between the last step and the end; the ledger is replaced before the run is taken up again."""
    run = queue(quick_plan())
    more = run.bound.model_copy(update={"epsilon": 2 * run.bound.epsilon})
    RunStore(here()).change(run.id, {"starting"}, "changed", bound=more)
    worker.main(here(), run.id)
    assert RunStore(here()).get(run.id).bound == more
    assert not RunFolder(here(), run.id).checkpoint.exists()
    with pytest.raises(WorkbenchError, match="got less than the run has recorded"):
        export_run(here(), run.id, here().home / "run.zip")
