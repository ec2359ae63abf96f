"""Dossiers: every number follows from the run's files, what may leave obeys its marks, and what is forged is found."""

import hashlib
import html
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml
from scipy.stats import beta
from support.homes import here
from support.quick import QUICK

from workbench import experiment
from workbench.cli import main
from workbench.cli.output import describe_value
from workbench.datasets import DATASETS, load
from workbench.errors import WorkbenchError
from workbench.evaluation import membership
from workbench.plan import Plan
from workbench.privacy import accountant_values, group_bound, proved_bound
from workbench.privacy.accounting.bounds import replace_one_bound
from workbench.privacy.accounting.gaussian import gdp_delta
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.attacks.tradeoff import dp_tradeoff, event_tradeoff
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import bound_of, zero_out_total
from workbench.records import ImageKind, Records
from workbench.records.images import png_data_uri
from workbench.runs.copies import copies_run
from workbench.runs.dossier import QUESTIONS, check_dossier, dossier_of, kept_statements, registry_entry, render, state
from workbench.runs.dossier.checking import wrong_ceiling, wrong_ledger, wrong_marks
from workbench.runs.dossier.html import BEGIN, END, read_dossier
from workbench.runs.dossier.making import measure_of
from workbench.runs.dossier.sections import PARTS
from workbench.runs.dossier.values import Dossier, LedgerRow, Measure, Room
from workbench.runs.finished import evaluate_run, neighbours_run
from workbench.runs.folder import RunFolder
from workbench.runs.games import GameRequest, game_run
from workbench.runs.memberships import kept_scores, membership_run
from workbench.runs.release import export_run, verify
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.verdicts import Verdicts

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]
METHODS = {"dp-merf": "digits", "private-evolution": "digits", "mst": "breast-cancer"}  # a network, votes, a table
SCHEMA = Path(__file__).parent / "deployments_registry/deployments-schema.yaml"  # of the OpenDP deployments registry, MIT
ANSWERS = {key: "2026-05-31" if key in ("published", "signed") else f"Said of {key}." for key in QUESTIONS} | {
    "curators": "The clinic; the university",
    "sector": "Healthcare",
    "release": "One release",
}


@pytest.fixture
def finished(train_here: Make) -> Callable[[str], Run]:
    """A finished run of one of METHODS."""

    def make(method: str) -> Run:
        plan = experiment.make_plan(method, load(METHODS[method]).facts, epsilon=8.0, settings=QUICK.get(method, {}))
        return train_here(plan)

    return make


@pytest.fixture
def dossier_and_export(finished: Callable[[str], Run], tmp_path: Path) -> tuple[Path, Path]:
    """A dossier that may leave, and its export."""
    run = finished("dp-merf")
    sample_set(here(), run.id).records(10)
    state(here(), run.id, {"purpose": "Lessons <b>only</b>."})
    export_run(here(), run.id, tmp_path / "run.zip")
    (tmp_path / "dossier.html").write_text(render(dossier_of(here(), run.id)))
    return tmp_path / "dossier.html", tmp_path / "run.zip"


def commanded(*arguments: str) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def complaints(dossier: Path, export: Path) -> dict[str, str]:
    return {name: words for name, words in check_dossier(dossier, export, verify(export).card).items() if words}


@pytest.mark.parametrize("method", METHODS)
def test_every_number_follows_from_the_files_of_the_run(finished: Callable[[str], Run], method: str) -> None:
    check_numbers(finished(method), METHODS[method])


@pytest.mark.slow(depends=["workbench/runs/dossier/**", "workbench/runs/release/**", "workbench/methods/private_evolution/**"])
def test_every_number_of_mnist_by_votes_follows_from_the_files_of_the_run(
    slow_home: Path, train_here: Make, figures: dict[str, Any]
) -> None:
    if not DATASETS["mnist"].is_local(here()):
        pytest.skip("the IDX files of MNIST are not here: set WORKBENCH_DATA to the folder that holds them")
    run = train_here(experiment.make_plan("private-evolution", load("mnist").facts, epsilon=1.0))
    check_numbers(run, "mnist")
    figures["proved bound"] = run.bound.epsilon


def check_numbers(run: Run, dataset: str) -> None:
    """Every number of a run's dossier for the room, made again of its folder and the ledger."""
    sample_set(here(), run.id).records(12)
    evaluate_run(here(), run.id, 12, metrics=["accuracy_logistic_regression"])
    dossier = dossier_of(here(), run.id, "room")
    folder = RunFolder(here(), run.id).path
    plan = Plan.model_validate_json((folder / "plan.json").read_text())
    card, stages = dossier.card, plan.stages
    assert card.bound.epsilon == proved_bound(stages, plan.delta).epsilon <= 8.0
    assert (card.num_records, card.bound.delta) == (plan.facts.num_records, plan.delta)
    assert card.claim.epsilon == plan.claim.epsilon
    assert {size: value.epsilon for size, value in card.groups.items()} == {
        str(size): group_bound(stages, plan.delta, size).epsilon for size in (2, 5)
    }
    replaced = replace_one_bound(stages, plan.delta)
    assert (card.replace_one and card.replace_one.epsilon) == (replaced and replaced.epsilon)
    assert list(dossier.best_attack) == ["0.001", "0.01", "0.1"]
    for rate, best in dossier.best_attack.items():
        by_point = [float(1 - dp_tradeoff(point.bound, point.delta, [float(rate)])[0]) for point in dossier.profile.points]
        assert best == min(by_point) < float(1 - dp_tradeoff(card.bound.epsilon, plan.delta, [float(rate)])[0])
        assert best >= float(1 - event_tradeoff(stages, [float(rate)])[0]), "no attack on these releases reaches more"
    for point in dossier.profile.points:
        values = accountant_values(stages, point.delta)
        assert point.accountants == {name: value if isinstance(value, float) else None for name, value in values.items()}
        assert point.bound == proved_bound(stages, point.delta).epsilon
        if point.mu is not None:  # the Gaussian mechanism of this mu loses just as much at this delta
            assert float(gdp_delta(point.mu, point.bound)) == pytest.approx(point.delta, rel=1e-6)
    assert {point.delta for point in dossier.profile.points} == {10.0**-power for power in range(1, 11)} | {plan.delta}
    [row] = dossier.ledger
    assert row.alone.epsilon == Ledger(here().ledger).epsilon_spent(run.id, plan.delta).epsilon == card.bound.epsilon
    assert card.ledger.total.epsilon == Ledger(here().ledger).total(dataset, delta=plan.delta).epsilon
    evaluation = json.loads((folder / "evaluation.json").read_text())["results"]
    assert [(one.name, one.value, one.low, one.high, one.ceiling) for one in dossier.measures] == [
        (one["name"], one["value"], *one["interval"], one["ceiling"]) for one in evaluation
    ]
    assert set(dossier.files) == {"card.json", "card.md", "plan.json", "weights.safetensors", "samples/default.npz"}
    assert dossier.digest == hashlib.sha256(json.dumps(json.loads(values_in(render(dossier)))).encode()).hexdigest()


def values_in(page: str) -> str:
    return page[page.index(BEGIN) + len(BEGIN) : page.index(END, page.index(BEGIN))]


def test_a_dossier_holds_against_its_export_and_shows_every_section_and_question(dossier_and_export: tuple[Path, Path]) -> None:
    dossier, export = dossier_and_export
    page = dossier.read_text()
    assert complaints(dossier, export) == {}
    assert commanded("verify", str(export), "--dossier", str(dossier)) == 0
    places = [page.index(f"<h2>{number}. ") for number in range(1, len(PARTS) + 1)]
    assert places == sorted(places)
    assert page.count("Not stated.") == len(QUESTIONS) - 1
    assert "questions that only people can answer are open" in page
    assert "Every question to people has an answer." not in page
    assert "Lessons &lt;b&gt;only&lt;/b&gt;." in page
    assert "Lessons <b>" not in page
    assert "http" not in page.replace("http-equiv", "")  # nothing is fetched
    assert page.count("<svg") == 2
    assumed = [html.escape(words, quote=True) for words in read_dossier(page).card.assumes]
    for name, words in (("Randomness", assumed[0]), ("Floating point", assumed[1])):
        assert words in page.split(f">{name}<", 1)[1][: len(words) + 100]


def times(name: str, factor: float) -> Callable[[Dossier], Dossier]:
    """The dossier with a value of the card's by another number, and the page made anew."""

    def change(dossier: Dossier) -> Dossier:
        value = getattr(dossier.card, name)
        card = dossier.card.model_copy(update={name: value.model_copy(update={"epsilon": value.epsilon * factor})})
        return dossier.model_copy(update={"card": card})

    return change


def card_with(**values: Any) -> Callable[[Dossier], Dossier]:
    return lambda dossier: dossier.model_copy(update={"card": dossier.card.model_copy(update=values)})


def with_(**values: Any) -> Callable[[Dossier], Dossier]:
    return lambda dossier: dossier.model_copy(update=values)


def smaller_profile(dossier: Dossier) -> Dossier:
    points = tuple(point.model_copy(update={"bound": point.bound / 2}) for point in dossier.profile.points)
    return dossier.model_copy(update={"profile": dossier.profile.model_copy(update={"points": points})})


def smaller_mu(dossier: Dossier) -> Dossier:
    assert dossier.profile.mu is not None
    return dossier.model_copy(update={"profile": dossier.profile.model_copy(update={"mu": dossier.profile.mu / 2})})


def fewer_steps(dossier: Dossier) -> Dossier:
    [row] = dossier.ledger
    spent = (row.spent[0].model_copy(update={"steps": row.spent[0].steps - 1}), *row.spent[1:])
    return dossier.model_copy(update={"ledger": (row.model_copy(update={"spent": spent}),)})


def another_hash(dossier: Dossier) -> Dossier:
    return dossier.model_copy(update={"files": {name: digest[::-1] for name, digest in dossier.files.items()}})


def smaller_row(dossier: Dossier) -> Dossier:
    [row] = dossier.ledger
    return dossier.model_copy(update={"ledger": (row.model_copy(update={"alone": row.alone.model_copy(update={"epsilon": 0.1})}),)})


def with_measure(**values: Any) -> Callable[[Dossier], Dossier]:
    fields = {"name": "accuracy", "title": "Accuracy", "unit": "", "better": "higher", "num_samples": 10, "releasable": False}
    none = dict.fromkeys(("value", "low", "high", "ceiling", "epsilon_zero"))
    return with_(measures=(Measure(**{**fields, **none, **values}),))


FORGERIES: dict[str, tuple[str, Callable[[Dossier], Dossier]]] = {
    "the bound": ("dossier's card", times("bound", 0.5)),
    "the claim": ("dossier's card", times("claim", 0.5)),
    "number of records": ("dossier's card", card_with(num_records=10**6)),
    "seeded": ("dossier's card", card_with(dataset="another")),
    "the profile": ("dossier's numbers", smaller_profile),
    "mu": ("dossier's numbers", smaller_mu),
    "the best attack": ("dossier's numbers", with_(best_attack={"0.01": 0.02})),
    "a setting": ("dossier's numbers", with_(config={"steps": 1})),
    "the method's title": ("dossier's numbers", with_(title="Another method")),
    "a run left out": ("dossier's ledger", with_(ledger=())),
    "fewer steps": ("dossier's ledger", fewer_steps),
    "a run's epsilon": ("dossier's ledger", smaller_row),
    "a file left out": ("dossier's files", with_(files={"card.json": "0" * 64})),
    "a hash": ("dossier's files", another_hash),
    "a ceiling without audit": ("dossier's audit", with_(audit_ceiling=3.0)),
    "a private measure": ("dossier's marks", with_measure(value=0.9)),
    "one end of a private interval": ("dossier's marks", with_measure(high=0.9)),
    "what real records come to": ("dossier's marks", with_measure(value=0.8, ceiling=0.9, releasable=True)),
    "a private part": ("dossier's marks", with_(room=Room(verdicts={}, reviewers=(), findings=(), features="pixels", gallery=()))),
    "an unknown question": ("dossier's answers", with_(answers={"invented": "yes"})),
}


def test_forged_fields_are_found(dossier_and_export: tuple[Path, Path]) -> None:
    """Each is changed in the values, and the page made anew of them, as a skilled forger would."""
    dossier, export = dossier_and_export
    original = read_dossier(dossier.read_text())
    assert not math.isinf(original.card.bound.epsilon)
    for name, (check, change) in FORGERIES.items():
        dossier.write_text(render(change(original)))
        assert check in complaints(dossier, export), name


def row_of(run: str, *spent: PlannedStage) -> LedgerRow:
    """A run of a ledger that spent these stages and tells what they come to."""
    alone = bound_of([stage.stage for stage in spent], 1e-5)
    return LedgerRow(
        run=run, method="dp-merf", purpose="training", opened="2026-01-01", closed="2026-01-02", public="", spent=spent, alone=alone
    )


def test_a_list_of_runs_that_was_changed_is_found_whatever_it_comes_to(dossier_and_export: tuple[Path, Path]) -> None:
    """Changes that leave the total of all runs as it was: nothing else tells of them."""
    original = read_dossier(dossier_and_export[0].read_text())
    [stage] = original.card.spent
    own, free, other = (original.card.run, stage), ("cancelled",), ("another", stage.model_copy(update={"sampling": "otherwise"}))
    delta = original.card.ledger.total.delta

    def complaint(*rows: tuple[Any, ...], runs: int | None = None) -> str:
        listed = tuple(row_of(*row) for row in rows)
        total = zero_out_total([(f"run {row.run}", [one.stage for one in row.spent]) for row in listed], delta)
        place = original.card.ledger.model_copy(update={"position": 1, "runs": runs or len(rows), "total": total})
        return wrong_ledger(original.model_copy(update={"ledger": listed, "card": original.card.model_copy(update={"ledger": place})}))

    assert complaint(own, free, other) == ""
    assert "2 runs are listed, and the card says 3" in complaint(own, other, runs=3)
    assert "4 runs are listed, and the card says 3" in complaint(own, free, free, other, runs=3)
    assert "Run 1 of the list is cancelled" in complaint(free, own, other)
    drawn = (f"{original.card.run}-samples-default", stage)
    assert complaint(own[:1], drawn) == "", "what drawing samples spent stands in rows of its own"
    place = original.card.ledger
    less = place.model_copy(update={"total": place.total.model_copy(update={"epsilon": place.total.epsilon / 2})})
    assert "The total of the list" in wrong_ledger(card_with(ledger=less)(original))
    [row] = original.ledger
    for days in (
        {"opened": "today"},
        {"opened": "2026-13-45"},
        {"opened": "2026-01-01T10:00"},
        {"closed": "by and by"},
        {"closed": "9999-99-99"},
        {"closed": ""},
    ):
        assert "told with other than days" in wrong_ledger(with_(ledger=(row.model_copy(update=days),))(original)), days
    before = row.model_copy(update={"opened": "2026-01-02", "closed": "2026-01-01"})
    assert "before it was opened" in wrong_ledger(with_(ledger=(before,))(original))
    doubled = stage.model_copy(update={"steps": stage.steps * 2})
    assert "What this run spent by the list is not what the card says" in complaint((own[0], doubled), other)


def test_of_a_measure_what_may_not_leave_is_left_out() -> None:
    """Each number by its own mark: the value may leave where what real records come to may not, and epsilon 0 without either."""
    numbers = {"value": 0.8, "interval": (0.7, 0.9), "ceiling": 0.95, "epsilon_zero": 0.5}
    result = {"name": "accuracy_cnn", "unit": "", "better": "higher", "num_samples": 10, **numbers}

    def told(in_room: bool = False, **marks: bool) -> list[float | None]:
        one = measure_of(result | marks, in_room)
        return [one.value, one.low, one.high, one.ceiling, one.epsilon_zero]

    assert told(in_room=True) == [0.8, 0.7, 0.9, 0.95, 0.5]
    assert told() == [None] * 5, "what has no mark stays"
    assert told(releasable=True, epsilon_zero_releasable=True) == [0.8, 0.7, 0.9, None, 0.5]
    assert told(epsilon_zero_releasable=True) == [None, None, None, None, 0.5]
    assert told(ceiling_releasable=True) == [None, None, None, 0.95, None]


def test_cautions_of_samples_that_must_stay_stay_too(dossier_and_export: tuple[Path, Path]) -> None:
    said = with_(cautions=("These samples look like the public prior.",))(read_dossier(dossier_and_export[0].read_text()))
    assert wrong_marks(said) == ""
    assert "must not be released" in wrong_marks(card_with(releasable=False)(said))


def test_an_audit_and_its_ceiling_are_told_together_and_the_ceiling_is_no_smaller(dossier_and_export: tuple[Path, Path]) -> None:
    original = read_dossier(dossier_and_export[0].read_text())
    measured = PrivacyValue(epsilon=1.0, delta=1e-5, status="measured")

    def complaint(audit: PrivacyValue | None, ceiling: float | None) -> str:
        return wrong_ceiling(card_with(audit=audit)(with_(audit_ceiling=ceiling)(original)))

    assert [complaint(None, None), complaint(measured, 1.0), complaint(measured, 2.0)] == ["", "", ""]
    assert "together, or neither" in complaint(measured, None)
    assert "together, or neither" in complaint(None, 2.0)
    assert "below what it measured" in complaint(measured, 0.9)


def test_of_two_files_that_differ_neither_is_blamed(dossier_and_export: tuple[Path, Path]) -> None:
    dossier, export = dossier_and_export
    original = read_dossier(dossier.read_text())
    dossier.write_text(render(FORGERIES["the bound"][1](original)))
    words = complaints(dossier, export)["dossier's card"]
    epsilon = original.card.bound.epsilon
    assert f"({epsilon / 2:.6g} here, {epsilon:.6g} there)" in words
    assert words.endswith("One of the two files was changed, or is older than the other.")


def test_a_claim_that_is_not_evaluated_has_no_number(finished: Callable[[str], Run]) -> None:
    dossier = dossier_of(here(), finished("private-evolution").id)
    nothing = PrivacyValue(epsilon=math.inf, delta=1e-5, status="not_evaluated")
    own = dossier.model_copy(update={"card": dossier.card.model_copy(update={"claim": nothing})})
    row = render(own).partition("paper&#x27;s claim</th>")[2].partition("</tr>")[0]
    assert '<td class="short">not evaluated</td>' in row
    assert "∞" not in row
    assert describe_value(nothing) == {"epsilon": "none", "status": "not_evaluated", "reason": ""}


def test_questions_say_what_may_be_answered_and_where_it_stands(finished: Callable[[str], Run], capsys: pytest.CaptureFixture[str]) -> None:
    run = finished("dp-merf")
    capsys.readouterr()
    assert commanded("dossier", run.id, "--questions") == 0
    assert "printed as they are typed" in " ".join(capsys.readouterr().out.split())
    assert commanded("dossier", run.id, "--questions", "--json") == 0
    said = capsys.readouterr().out
    assert "One of: Technology, Healthcare, Education" in said
    assert "One of: One release, Many releases." in said


def test_a_page_that_says_other_than_its_values_is_found(dossier_and_export: tuple[Path, Path]) -> None:
    dossier, export = dossier_and_export
    page = dossier.read_text()
    for old, new in (
        ("This version may be released", "This version is certified"),
        ("May be released", "Certified"),
        ("Not stated.", "Checked by the board."),
    ):
        dossier.write_text(page.replace(old, new, 1))
        assert complaints(dossier, export) == {"dossier's page": "The page does not say what its values say."}
    dossier.write_text(page[: page.index(BEGIN)])
    with pytest.raises(WorkbenchError, match="without its values"):
        complaints(dossier, export)


def test_what_may_leave_has_no_private_number_and_the_room_has_its_galleries(finished: Callable[[str], Run]) -> None:
    run = finished("dp-merf")
    sample_set(here(), run.id).records(12)
    evaluate_run(here(), run.id, 12, metrics=["accuracy_logistic_regression"])
    neighbours_run(here(), run.id, num_samples=12)
    outside, room = dossier_of(here(), run.id), dossier_of(here(), run.id, "room")
    assert (outside.room, outside.measures, outside.withheld) == (None, (), 1)
    accuracy = room.measures[0].value
    assert accuracy is not None
    assert f"{accuracy:.4g}" not in render(outside)
    assert "data:image/png" not in render(outside)
    assert room.room is not None
    assert len(room.room.gallery) == 12
    assert render(room).count("<img") == 12 * 5
    assert "PRIVATE: DO NOT SHARE" in render(room)
    assert render(dossier_of(here(), run.id)) == render(outside)


def test_what_attacks_found_and_the_gallery_follow_from_the_files_of_the_run(
    train_here: Make, quick_plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every number of the room, made again of scores, samples and verdicts that are kept, and of the records."""
    monkeypatch.setattr(membership, "LOSS_DRAWS", 1)
    run = train_here(quick_plan("dp-promise"))
    kept = sample_set(here(), run.id).records(20)
    neighbours_run(here(), run.id, num_samples=20)
    membership_run(here(), run.id, "loss")
    game = game_run(here(), run.id, GameRequest(games=50))
    copies_run(here(), run.id, num_samples=20)
    for sample, verdict in ((3, "fine"), (5, "copied"), (3, "unsure")):
        Verdicts(here().verdicts).judge(run.id, sample, verdict, reviewer="Ada")
    room = dossier_of(here(), run.id, "room").room
    assert room is not None
    assert (room.verdicts, room.reviewers) == ({"default": {"copied": 1, "unsure": 1}}, ("Ada",))

    said = {finding.name: finding.words for finding in room.findings}
    [scores] = kept_scores(here(), run.id)
    pairs = np.subtract.outer(scores.held_out_scores, scores.training_scores)  # small: member
    auc = float((pairs > 0).mean() + (pairs == 0).mean() / 2)
    assert said["membership by loss"].startswith(f"AUC {auc:.3f} (")
    assert f" of {len(scores.training)} members." in said["membership by loss"]
    assert said["game by loss"].startswith(f"Right in {game.right} of 50 games: advantage {2 * game.right / 50 - 1:.3f} (")
    ends = [2 * beta.ppf(0.025, game.right, 51 - game.right) - 1, 2 * beta.ppf(0.975, game.right + 1, 50 - game.right) - 1]
    assert f"({ends[0]:.3f} to {ends[1]:.3f}; 0 is guessing)" in said["game by loss"]
    assert said["copies in pixels"].startswith("0 training records are repeated"), "two steps teach nothing"

    pixels, digits = ImageKind.of(run.plan.facts.kind).features, load("digits")

    def distances(records: Records) -> np.ndarray:
        return np.sqrt(((pixels(kept.records)[:, None] - pixels(records.records)[None]).astype(np.float64) ** 2).sum(axis=-1))

    to_training, to_held_out = distances(digits.train), distances(digits.held_out)
    suspicion = to_held_out.min(axis=1) / (to_training.min(axis=1) + to_held_out.min(axis=1))
    assert [card.suspicion for card in room.gallery] == pytest.approx(sorted(suspicion, reverse=True)[: len(room.gallery)])
    for card in room.gallery:
        nearest = np.argsort(to_training[card.sample], kind="stable")[: len(card.training)]
        assert card.generated == png_data_uri(kept.records[card.sample])
        assert card.training == tuple(png_data_uri(digits.train.records[place]) for place in nearest)
        assert card.distances == pytest.approx(to_training[card.sample, nearest].tolist())
        assert card.held_out == png_data_uri(digits.held_out.records[to_held_out[card.sample].argmin()])
        assert card.held_out_distance == pytest.approx(to_held_out[card.sample].min())
        assert card.verdict == {3: "unsure", 5: "copied"}.get(card.sample, "")


def test_the_class_that_is_served_worst_stands_beside_small_groups(finished: Callable[[str], Run]) -> None:
    run = finished("mst")
    sample_set(here(), run.id).records(60)
    evaluate_run(here(), run.id, 60, metrics=["accuracy_logistic_regression"])
    assert "The class that is served worst is not among the measures here" in render(dossier_of(here(), run.id, "room"))
    evaluate_run(here(), run.id, 60, metrics=["worst_class_logistic_regression"])
    room, outside = dossier_of(here(), run.id, "room"), dossier_of(here(), run.id)
    assert [one.name for one in room.measures] == ["worst_class_logistic_regression"]
    assert "The class that is served worst is among the measures" in render(room)
    assert (outside.measures, outside.withheld) == ((), 1), "a private number may not leave"
    assert "The class that is served worst is not among the measures here" in render(outside)


def test_answers_are_kept_checked_and_taken_back(finished: Callable[[str], Run], capsys: pytest.CaptureFixture[str]) -> None:
    run = finished("dp-merf")
    assert commanded("dossier", run.id, "--state", "purpose=Lessons", "--state", "published=2026-05-31", "--questions") == 0
    assert "Lessons" in capsys.readouterr().out
    assert kept_statements(here(), run.id).answers == {"purpose": "Lessons", "published": "2026-05-31"}
    assert commanded("dossier", run.id, "--state", "purpose=", "--questions") == 0
    assert kept_statements(here(), run.id).answers == {"published": "2026-05-31"}
    for wrong in ("published=tomorrow", "sector=Magic", "invented=yes", "purpose"):
        assert commanded("dossier", run.id, "--state", wrong) == 2
    assert kept_statements(here(), run.id).answers == {"published": "2026-05-31"}


def test_an_entry_for_the_deployments_registry_needs_every_answer(finished: Callable[[str], Run], tmp_path: Path) -> None:
    run = finished("dp-merf")
    with pytest.raises(WorkbenchError, match="curators, product"):
        registry_entry(dossier_of(here(), run.id))
    (tmp_path / "answers.json").write_text(json.dumps(ANSWERS))
    entry = tmp_path / "entry.yaml"
    assert commanded("dossier", run.id, "--answers", str(tmp_path / "answers.json"), "--registry", str(entry)) == 0
    assert "Every question to people has an answer." in render(dossier_of(here(), run.id))
    registered = json.loads(entry.read_text())
    assert registered["tier"] == 3
    assert registered["deployment"]["basic"]["data_curators"] == ["The clinic", "the university"]
    assert registered["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": run.bound.epsilon, "delta": run.delta}
    schema = yaml.safe_load(SCHEMA.read_text())
    jsonschema.validate(yaml.safe_load(entry.read_text()), schema)
    del registered["deployment"]["basic"]
    with pytest.raises(jsonschema.ValidationError, match="basic"):
        jsonschema.validate(registered, schema)


def test_a_run_without_a_bound_says_so_and_has_no_entry(train_here: Make, quick_plan: PlanMaker, tmp_path: Path) -> None:
    run = train_here(quick_plan("nonprivate"))
    state(here(), run.id, ANSWERS)
    dossier = dossier_of(here(), run.id)
    assert "NOT PRIVATE" in render(dossier)
    assert "∞" in render(dossier)
    with pytest.raises(WorkbenchError, match="may be released"):
        registry_entry(dossier)
    export_run(here(), run.id, tmp_path / "run.zip", not_private=True)
    (tmp_path / "dossier.html").write_text(render(dossier))
    assert complaints(tmp_path / "dossier.html", tmp_path / "run.zip") == {}
