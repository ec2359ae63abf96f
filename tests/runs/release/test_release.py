"""Exports: what is in them, what no one may find in them, and what their check finds."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save
from support import quick
from support.homes import here
from support.mutated_archives import mutated
from support.odd_methods import join_registry

from workbench import experiment
from workbench.cli import main
from workbench.datasets import load
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.escaping import markdown
from workbench.files import make_private_folder
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy import group_bound
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.release import export, export_run, verify
from workbench.runs.release.archive import (
    CARD,
    CARD_TEXT,
    MANIFEST,
    PLAN,
    WEIGHTS,
    digest,
    packed_arrays,
    read_archive,
    unpacked_arrays,
    write_archive,
)
from workbench.runs.release.card import GROUPS, PrivacyCard
from workbench.runs.release.export import ANYTHING_ELSE, LEFT_OUT, STAYS, card_of, left_out_here, restated_plan, without_places
from workbench.runs.release.verify import wrong_plan, wrong_request
from workbench.runs.release.weights import MODULES, TENSORS, misfit, packed_part, unpacked_tensors
from workbench.runs.run import Run
from workbench.runs.sample_files import read_records
from workbench.runs.samples import sample_set
from workbench.runs.trained import load_state, trained_run
from workbench.training.state import PerformanceSettings, load_saved, save_atomically

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]
Members = dict[str, bytes]
Change = Callable[[Members], None]


@pytest.fixture
def exported(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> Path:
    """A finished run with samples, as a file."""
    run = train_here(quick_plan())
    sample_set(here(), run.id).records(30)
    export_run(here(), run.id, tmp_path / "run.zip")
    return tmp_path / "run.zip"


def edited(path: Path, change: Change, rehash: bool = True) -> Path:
    """The export with `change` made to its members; whoever changes it may renew the hashes too."""
    _, members = read_archive(path)
    change(members)
    if rehash:
        manifest = json.loads(members[MANIFEST])
        manifest["files"] = {name: digest(content) for name, content in members.items() if name != MANIFEST}
        members[MANIFEST] = json.dumps(manifest).encode()
    other = path.with_name("changed.zip")
    write_archive(other, members)
    return other


def complaints(path: Path) -> dict[str, str]:
    return {name: complaint for name, complaint in verify(path).checks.items() if complaint}


def with_card(**values: Any) -> Change:
    """A card of other values, whose text says the same."""

    def change(members: Members) -> None:
        card = PrivacyCard.model_validate({**json.loads(members[CARD]), **values})
        members[CARD], members[CARD_TEXT] = card.model_dump_json().encode(), card.markdown.encode()

    return change


def test_an_export_holds_what_may_leave_and_is_verified_elsewhere(
    exported: Path, workbench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, members = read_archive(exported)
    assert list(members) == [CARD, CARD_TEXT, PLAN, WEIGHTS, "samples/default.npz", MANIFEST]
    assert str(workbench_home) not in "".join(content.decode(errors="replace") for content in members.values())
    card = json.loads(members[CARD])
    plan = Plan.model_validate(json.loads(members[PLAN]))
    assert card["releasable"]
    assert card["bound"]["epsilon"] == plan.bound.epsilon
    assert card["groups"]["2"]["epsilon"] == group_bound(plan.stages, plan.delta, 2).epsilon > plan.bound.epsilon
    assert (card["ledger"]["position"], card["ledger"]["runs"]) == (1, 1)
    assert card["audit"] is None
    stays = json.loads(members[MANIFEST])["left_out"]
    assert {"metrics.jsonl", "model.pt", "the noise key"} <= set(stays)
    monkeypatch.setenv("WORKBENCH_HOME", str(workbench_home.with_name("another")))
    assert verify(exported).holds


def test_nothing_in_an_export_tells_a_time_finer_than_a_day(
    quick_plan: PlanMaker, train_here: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a run took tells how large its batches were; which files it has, and their times, tell who looked and when."""
    ledger = "workbench.privacy.spending.ledger"
    monkeypatch.setattr(f"{ledger}._now", iter(("2031-05-06T07:08:09.123+00:00", "2031-05-07T10:11:12.456+00:00")).__next__)
    run = train_here(quick_plan())
    sample_set(here(), run.id).records(30)
    export_run(here(), run.id, tmp_path / "first.zip")
    card, members = read_archive(tmp_path / "first.zip")[1][CARD], read_archive(tmp_path / "first.zip")[1]
    assert (json.loads(card)["ledger"]["opened"], json.loads(card)["ledger"]["closed"]) == ("2031-05-06", "2031-05-07")
    texts = "".join(members[name].decode() for name in (CARD, CARD_TEXT, PLAN, MANIFEST))
    assert re.findall(r"\d\d:\d\d|\d{4}-\d\d-\d\dT", texts) == []
    for content in ((tmp_path / "first.zip").read_bytes(), members["samples/default.npz"]):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert verify(tmp_path / "first.zip").holds
    (RunFolder(here(), run.id).path / "previews").mkdir(exist_ok=True)
    (RunFolder(here(), run.id).path / "previews" / "0117.png").touch()
    export_run(here(), run.id, tmp_path / "second.zip")
    stays = [json.loads(read_archive(tmp_path / f"{name}.zip")[1][MANIFEST])["left_out"] for name in ("first", "second")]
    assert stays[0] == stays[1]


def test_whatever_a_stranger_named_is_inert_on_a_card(exported: Path) -> None:
    """The name of one's own dataset, and what follows from it, stands in the card's Markdown."""
    evil = "[click](http://127.0.0.1:9) <img src=x> | a\n# heading"
    card = PrivacyCard.model_validate_json(read_archive(exported)[1][CARD])
    assert card.bound.sampling
    assert f"| {card.bound.status} | {markdown(card.bound.neighboring_relation)} | {markdown(card.bound.sampling)} |" in card.markdown
    place = card.ledger.model_copy(update={"account": evil})
    text = card.model_copy(update={"dataset": evil, "method": evil, "release_reason": evil, "unit": evil, "ledger": place}).markdown
    assert text.count(markdown(evil)) == 5
    assert not re.search(r"(?<!\\)(\]\(|<img)|\n# heading", text)


def test_a_card_that_tells_a_moment_is_refused(exported: Path) -> None:
    _, members = read_archive(exported)
    card = json.loads(members[CARD])
    card["ledger"]["opened"] += "T07:08:09.123+00:00"
    members[CARD] = json.dumps(card).encode()
    write_archive(exported, members)
    assert "Expected days" in str(verify(exported).checks)


def test_the_place_of_a_run_on_another_form_of_the_records_is_on_their_account(
    quick_plan: PlanMaker, train_here: Make, tmp_path: Path
) -> None:
    train_here(quick_plan())
    run = train_here(make_plan("dp-merf", "permuted-digits", epsilon=10, settings=quick.QUICK["dp-merf"]))
    export_run(here(), run.id, tmp_path / "permuted.zip")
    checked = verify(tmp_path / "permuted.zip")
    assert (checked.holds, checked.card.ledger.account, checked.card.ledger.position, checked.card.ledger.runs) == (True, "digits", 2, 2)


def test_every_file_that_a_job_keeps_with_a_run_stays_for_a_reason_of_its_own(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan())
    kept = (
        "leakage-400-0.npz",
        "copies-pixels-100.json",
        "removal-0.05-3-400.json",
        "pac-16-64-0.json",
        "membership-loss-0.json",
        "votes.json",
        "audit.json",
    )
    for name in (*kept, "audit.json", "pac-16-64-1/0.npz", "shadows-16-0/3.npy"):
        make_private_folder((RunFolder(here(), run.id).path / name).parent)
        (RunFolder(here(), run.id).path / name).touch()
    for lock in RunFolder(here(), run.id).path.rglob("*lock*"):
        lock.unlink()
    assert ANYTHING_ELSE not in left_out_here(here(), run.id)


def test_weights_and_samples_are_the_run_s(exported: Path) -> None:
    _, members = read_archive(exported)
    tensors, about = unpacked_tensors(members[WEIGHTS])
    run = json.loads(members[CARD])["run"]
    state = load_state(here(), trained_run(here(), run))
    mine = {f"{MODULES}/generator/{name}": value for name, value in state.modules["generator"].state_dict().items()}
    mine[f"{TENSORS}/embedding"] = state.tensors["embedding"]
    assert tensors.keys() == mine.keys()
    assert all(torch.equal(tensors[name], value) for name, value in mine.items())
    assert about["plan"] == digest(members[PLAN])
    path = exported.with_name("samples.npz")
    path.write_bytes(members["samples/default.npz"])
    assert (read_records(path).records == sample_set(here(), run).records(30).records).all()


def change_a_sample(members: Members) -> None:
    content = bytearray(members["samples/default.npz"])
    content[len(content) // 2] ^= 1
    members["samples/default.npz"] = bytes(content)


def swap_the_plan(members: Members) -> None:
    other = quick.quick_plan("dp-merf", epsilon=1.0)
    members[PLAN] = (
        other.model_copy(update={"request": other.request.model_copy(update={"dataset": other.facts})}).model_dump_json().encode()
    )


def change_the_configuration(members: Members) -> None:
    plan = json.loads(members[PLAN])
    plan["config"]["noise_multiplier"] *= 2
    members[PLAN] = json.dumps(plan).encode()


def spend_less(members: Members) -> None:
    card = json.loads(members[CARD])
    spent = [{**stage, "steps": 0} for stage in card["spent"]]
    with_card(spent=spent, bound={**card["bound"], "epsilon": 0.0})(members)


def better_bound(members: Members) -> None:
    bound = json.loads(members[CARD])["bound"]
    with_card(bound={**bound, "epsilon": bound["epsilon"] * 0.99})(members)


def better_replace_one(members: Members) -> None:
    replace_one = json.loads(members[CARD])["replace_one"]
    with_card(replace_one={**replace_one, "epsilon": replace_one["epsilon"] * 0.99})(members)


def other_words(members: Members) -> None:
    members[CARD_TEXT] = members[CARD_TEXT].replace(b"proved upper bound", b"bound for everybody")


def with_weights(change: Callable[[dict[str, torch.Tensor]], None]) -> Change:
    """Other weights under the same header: as those of this run and plan."""

    def changed(members: Members) -> None:
        tensors, about = unpacked_tensors(members[WEIGHTS])
        change(tensors)
        members[WEIGHTS] = save(tensors, metadata=about)

    return changed


def one_more_tensor(tensors: dict[str, torch.Tensor]) -> None:
    tensors[f"{MODULES}/records/weight"] = torch.zeros(2)


def another_shape(tensors: dict[str, torch.Tensor]) -> None:
    name = max((name for name in tensors if name.startswith(MODULES)), key=lambda name: tensors[name].ndim)
    tensors[name] = tensors[name].flatten()


def with_samples(**arrays: np.ndarray) -> Change:
    """Samples of other arrays beside the same notes."""

    def changed(members: Members) -> None:
        members["samples/default.npz"] = packed_arrays(unpacked_arrays(members["samples/default.npz"]) | arrays)

    return changed


def samples_under_another_name(members: Members) -> None:
    members["samples/01234567.npz"] = members.pop("samples/default.npz")


def without_samples(members: Members) -> None:
    del members["samples/default.npz"]


@pytest.mark.parametrize("place", ["./cars.npz", "../data/cars.npz", "/data/cars.npz", "~/cars.npz"])
def test_a_place_is_told_by_its_last_name_however_it_is_spelt(place: str) -> None:
    told = without_places({"selection": {"dataset": place, "rounds": 3}, "candidates": [place, "glyphs"]})
    assert told == {"selection": {"dataset": "cars.npz (gone)", "rounds": 3}, "candidates": ["cars.npz (gone)", "glyphs"]}


@pytest.mark.parametrize("may_leave", [True, False])
def test_a_card_tells_an_audit_that_may_leave_alone(may_leave: bool, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose canaries held private records, say, stays."""
    run = trained_run(here(), verify(exported).card.run)
    measured = PrivacyValue(epsilon=0.5, delta=run.delta, status="measured")
    monkeypatch.setattr(export, "audit_of", lambda *_: SimpleNamespace(value=measured, may_leave=may_leave))
    assert card_of(here(), run, restated_plan(run.plan)).audit == (measured if may_leave else None)


def test_a_plan_without_a_warning_that_belongs_to_it_is_found() -> None:
    plan = restated_plan(make_plan("dp-merf", load("digits").facts, epsilon=8.0, delta=0.01))
    assert "at random would satisfy it" in plan.warnings[0]
    assert wrong_plan(plan) == ""
    assert "lacks a warning" in wrong_plan(plan.model_copy(update={"warnings": ("All is well.",)}))


def test_a_plan_whose_epsilon_is_no_number_meets_nothing() -> None:
    plan = restated_plan(make_plan("dp-merf", load("digits").facts, epsilon=8.0))
    assert wrong_request(plan) == ""
    for epsilon in (8.1, np.nan):
        value = plan.bound.model_copy(update={"epsilon": epsilon})
        assert "An epsilon of 8 was asked for" in wrong_request(plan.model_copy(update={"bound": value}))


def test_a_changed_file_is_found_by_its_hash(exported: Path) -> None:
    assert set(complaints(edited(exported, change_a_sample, rehash=False))) == {"hashes", "samples/default.npz"}
    assert set(complaints(edited(exported, without_samples, rehash=False))) == {"hashes"}
    assert set(complaints(edited(exported, other_words, rehash=False))) == {"hashes", "card"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (swap_the_plan, {"bound", "card", "weights", "samples/default.npz"}),
        (change_the_configuration, {"plan", "weights", "samples/default.npz"}),
        (spend_less, {"bound", "card", "samples/default.npz"}),
        (better_bound, {"bound", "card", "samples/default.npz"}),
        (better_replace_one, {"card"}),
        (with_card(releasable=True, seeded=True), {"card"}),
        (with_card(unit="One person."), {"card"}),
        (other_words, {"card"}),
        (with_weights(one_more_tensor), {"weights"}),
        (with_weights(another_shape), {"weights"}),
        (with_samples(records=np.zeros((30, 1, 8, 8), np.uint8)), {"samples/default.npz"}),
        (with_samples(images=np.zeros((30, 9, 9, 1), np.uint8)), {"samples/default.npz"}),
        (with_samples(labels=np.full(30, 10)), {"samples/default.npz"}),
        (samples_under_another_name, {"samples/01234567.npz"}),
    ],
)
def test_what_was_changed_is_found_though_the_hashes_were_renewed(change: Change, expected: set[str], exported: Path) -> None:
    assert verify(edited(exported, lambda _members: None)).holds
    assert set(complaints(edited(exported, change))) == expected


DENOISED = {"selection.variations": ("denoise",), "selection.denoiser.steps": 2}


@pytest.mark.parametrize(
    ("method", "overrides"),
    [*((method, {}) for method in quick.ALL_METHODS), ("private-evolution", DENOISED), ("selective-pretraining", DENOISED)],
)
def test_every_method_s_weights_come_back_and_fit_its_plan_alone(
    method: str, overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    join_registry(monkeypatch)
    plan = quick.quick_plan(method, overrides=overrides)
    part = experiment.new_state(plan, PerformanceSettings(device="cpu")).part(plan.build().released_parts)
    assert ("selection_denoiser" in part["modules"]) == bool(overrides)
    tensors, about = unpacked_tensors(packed_part(part, {"plan": "x"}))
    assert len({packed_part(part, {"plan": "x", "run": "y", "more": "z"}) for _ in range(20)}) == 1  # equal weights make equal files
    assert about == {"plan": "x"}
    assert misfit(tensors, plan) == ""
    assert misfit({**tensors, f"{MODULES}/other/weight": torch.zeros(1)}, plan)
    if next(iter(tensors), "").startswith(MODULES):
        name = next(iter(tensors))
        assert misfit({**tensors, name: torch.zeros(3, 5, 7)}, plan).startswith(name)


def test_a_run_keeps_the_model_that_varies_what_is_drawn_and_is_not_sampled_without_it(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan("private-evolution", **DENOISED))
    file = RunFolder(here(), run.id).model
    kept = load_saved(file)
    trained = load_state(here(), run).modules["selection_denoiser"].state_dict()
    assert all(torch.equal(values, trained[name]) for name, values in kept["modules"]["selection_denoiser"].items())
    del kept["modules"]["selection_denoiser"]
    save_atomically(kept, file)
    with pytest.raises(DamagedFileError, match="Expected the trained selection_denoiser in"):
        load_state(here(), run)


def contents(content: bytes) -> Iterator[bytes]:
    """A file and whatever is packed inside it, unpacked."""
    yield content
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from contents(archive.read(name))


def test_no_training_record_is_in_an_export(exported: Path) -> None:
    everything = list(contents(exported.read_bytes()))
    train = load("digits").train.records
    assert len(everything) > 8
    planted = train[0].tobytes()
    assert any(planted in content for content in [*everything, b"before" + planted])  # the search finds one where there is one
    for record in train:
        for values in (record, record.astype("float32"), record.astype("float32") / 127.5 - 1):
            assert not any(values.tobytes() in content for content in everything)


def test_what_has_no_bound_is_refused_unless_it_is_called_not_private(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> None:
    plan = make_plan("class-moments", "digits", epsilon=10.0, settings=quick.QUICK["class-moments"])
    bare, seeded = train_here(quick_plan("nonprivate")), train_here(plan, seed=3)
    for run, word in ((bare, "may be released"), (seeded, "seeded")):
        with pytest.raises(WorkbenchError, match=word):
            export_run(here(), run.id, tmp_path / "run.zip")
        export_run(here(), run.id, tmp_path / "run.zip", not_private=True)
        checked = verify(tmp_path / "run.zip")
        assert checked.holds
        assert not checked.card.releasable
        assert "**NOT PRIVATE.**" in checked.card.markdown
        assert ("The run is seeded" in checked.card.markdown) == (run is seeded)
    assert {size: value.epsilon for size, value in checked.card.groups.items()} == {
        str(size): group_bound(plan.stages, plan.delta, size).epsilon for size in GROUPS
    }, "of all three releases together"
    assert "It is not releasable, whatever its bound says." in checked.card.markdown
    assert checked.card.bound.is_finite
    assert set(complaints(edited(tmp_path / "run.zip", with_card(releasable=True)))) == {"card"}


def zipped(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_hostile_file_is_refused(exported: Path, tmp_path: Path) -> None:
    good: list[tuple[zipfile.ZipInfo | str, bytes]] = [*read_archive(exported)[1].items()]
    others = [member for member in good if member[0] != CARD]
    cases: dict[str, list[tuple[zipfile.ZipInfo | str, bytes]]] = {
        "the name '../card.json'": [*good, ("../card.json", b"")],
        "the name '/etc/passwd'": [*good, ("/etc/passwd", b"")],
        "the name 'samples/../x.npz'": [*good, ("samples/../x.npz", b"")],
        "a name twice": [*good, (CARD, b"{}")],
        "a link or a folder": [*others, (link(CARD), b"/etc/passwd")],
        "no card.json": others,
        "to unpack to at most": [*good, ("samples/00000000.npz", bytes(300 * 2**20))],
        "Expected JSON": [*others, (CARD, b"[" * 100_000)],
        "card.json as": [*others, (CARD, b"{}")],
    }
    for message, members in cases.items():
        with pytest.raises(WorkbenchError, match=message):
            verify(zipped(tmp_path / "hostile.zip", *members))
    for content in (b"", b"PK\x03\x04 and nothing else", exported.read_bytes()[:-30]):
        (tmp_path / "hostile.zip").write_bytes(content)
        with pytest.raises(WorkbenchError, match="cannot be read"):
            verify(tmp_path / "hostile.zip")


def test_the_command_lists_what_stays_of_the_run_and_the_export_what_stays_of_any(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = verify(exported).card.run
    (RunFolder(here(), run).path / "copies-pixels-30.json").touch()
    with pytest.raises(SystemExit):
        main(("export", run, str(exported)))
    listed = [line.partition("  ")[0] for line in capsys.readouterr().out.partition("Left out:\n")[2].splitlines() if line[0] != " "]
    never = {"membership", "game", "leakage", "removal", "pac", "shadows", "votes", "audit.json", "statements.json"}
    assert {"plan.json", "metrics.jsonl", "model.pt", "copies", "samples.npz", "the noise key"} <= set(listed)
    assert not never & set(listed)
    assert listed == list(left_out_here(here(), run))
    assert json.loads(read_archive(exported)[1][MANIFEST])["left_out"] == LEFT_OUT, "alike for all runs"


def test_the_commands(exported: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = verify(exported).card.run

    def call(*arguments: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return ended.value.code, capsys.readouterr().out

    left = tmp_path / ".killed.zip.0123456789abcdef.partial"
    left.touch()
    code, out = call("export", run, str(tmp_path / "again.zip"), "--json")
    assert not left.exists()
    assert code == 0
    assert set(json.loads(out)["files"]) == {CARD, CARD_TEXT, PLAN, WEIGHTS, "samples/default.npz"}
    assert call("verify", str(tmp_path / "again.zip"))[0] == 0
    code, out = call("verify", str(edited(exported, better_bound)), "--json")
    assert (code, json.loads(out)["holds"]) == (1, False)
    code, out = call("verify", str(edited(exported, better_bound)))
    assert (code, "DOES NOT HOLD" in out, "may be released" in out) == (1, True, False)


@pytest.mark.parametrize(
    "name",
    [
        "samples/copies-pixels-30.json",
        "samples/copying-pixels-30.json",
        "evaluation.json",
        "membership-loss-0.json",
        "samples/neighbours-pixels.npz",
        "leakage-1000-0.npz",
        "removal-0.1-3-1000.json",
        "pac-3.json",
        "shadows/0.npz",
        "votes.json",
    ],
)
def test_the_card_says_that_samples_were_compared_whatever_compared_them(name: str, quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan())
    sample_set(here(), run.id).records(30)
    file = RunFolder(here(), run.id).path / name
    card = card_of(here(), run, restated_plan(run.plan))
    assert (card.measured, "Its samples were not compared with private records" in card.markdown) == (False, True)
    file.parent.mkdir(exist_ok=True)
    file.write_text("{}")
    card = card_of(here(), run, restated_plan(run.plan))
    assert (card.measured, "Its samples were compared with private records" in card.markdown) == (True, True)
    assert any(name.removeprefix("samples/").startswith(kind) for kind in STAYS)


def outcomes(exported: Path, numbers: range) -> set[str]:
    """What became of exports made wrong in as many ways: each is refused in a sentence, or found wanting in sentences."""
    _, members = read_archive(exported)
    fates, path = set[str](), exported.with_name("mutated.zip")
    for number in numbers:
        path.write_bytes(mutated(members, number))
        try:
            fates.add("holds" if (checked := verify(path)).holds else "complaint")
            assert all("\n" not in complaint for complaint in checked.checks.values()), number
        except WorkbenchError:
            fates.add("refused")
    return fates


def test_whatever_is_wrong_with_a_file_is_said_in_a_sentence(exported: Path) -> None:
    assert outcomes(exported, range(100, 160)) >= {"complaint", "refused"}


@pytest.mark.slow(depends=["workbench/runs/release/*", "tests/support/mutated_archives.py"])
def test_whatever_is_wrong_with_thousands_of_files_is_said_in_a_sentence(exported: Path, figures: dict[str, Any]) -> None:
    figures["mutated exports"] = 4000
    assert outcomes(exported, range(4000)) >= {"complaint", "refused"}


def test_public_files_of_one_s_own_are_named_by_their_content_and_not_by_their_place(train_here: Make, tmp_path: Path) -> None:
    folder = tmp_path / "home of a person"
    folder.mkdir()
    images = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 1), dtype=np.uint8)
    np.savez(folder / "cars.npz", images=images, labels=np.arange(60) % 10, classes=np.array([str(n) for n in range(10)]))
    settings = {**quick.QUICK["class-moments"], "dataset": str(folder / "cars.npz"), "records": 40}
    run = train_here(experiment.make_plan("class-moments", load("digits").facts, epsilon=5.0, settings=settings))
    assert run.state == "done", run.error
    export_run(here(), run.id, tmp_path / "run.zip")
    everything = b"".join(contents((tmp_path / "run.zip").read_bytes()))
    assert b"home of a person" not in everything
    assert str(tmp_path).encode() not in everything
    plan = json.loads(read_archive(tmp_path / "run.zip")[1][PLAN])
    assert re.fullmatch(r"cars\.npz \(SHA-256 [0-9a-f]{16}\)", plan["config"]["dataset"])
    assert plan["request"]["settings"]["dataset"] == plan["config"]["dataset"]
    checked = verify(tmp_path / "run.zip")
    assert checked.holds
    (entry,) = Ledger(here().ledger).entries()
    assert checked.card.public == run.plan.public == entry.public == plan["public"] == plan["config"]["dataset"]
    assert "Images taken to be public, which no bound covers: cars.npz" in checked.card.markdown
    (folder / "cars.npz").unlink()
    assert without_places(run.plan.config)["dataset"] == "cars.npz (gone)"
