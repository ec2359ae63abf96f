"""An epsilon by true votes: read by a job, kept with its run, told with what it is, refused elsewhere, and it leaves by no way."""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from support.homes import here
from support.launchers import Here
from support.quick import quick_plan

from workbench import tasks
from workbench.cli import main
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.jobs.launchers import LAUNCHERS
from workbench.methods import METHODS
from workbench.methods.protocols import DataDependentEpsilon
from workbench.runs.dossier import dossier_of, render
from workbench.runs.folder import RunFolder
from workbench.runs.release import export_run
from workbench.runs.release.archive import WEIGHTS, read_archive
from workbench.runs.release.weights import unpacked_tensors
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.trained import load_state
from workbench.runs.vote_gaps import PRIVATE, kept_votes, offering, votes_run

Make = Callable[..., Run]


@pytest.fixture
def voted(train_here: Make, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Run]:
    """A finished run of seconds of a method with teachers; jobs work in this process."""
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    return lambda method: train_here(quick_plan(method, epsilon=None, overrides={"noise_multiplier": 3.0}))


def said(*arguments: str) -> tuple[int, str, str]:
    """The exit code of a command, and what it printed on both streams."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


@pytest.mark.parametrize("method", ["pate-gan", "g-pate"])
def test_the_command_tells_the_true_votes_beside_the_worst_case_and_the_bound(voted: Callable[[str], Run], method: str) -> None:
    run = voted(method)
    assert kept_votes(here(), run.id) is None
    code, out, err = said("votes", run.id, "--json")
    printed, built = json.loads(out), run.plan.build()
    assert (code, printed["releasable"], printed["bound"]["epsilon"]) == (0, False, run.bound.epsilon)
    assert PRIVATE in err
    assert isinstance(built, DataDependentEpsilon)
    value = built.vote_gap_epsilon(load_state(here(), run), run.delta)
    assert kept_votes(here(), run.id) == value
    assert (printed["epsilon_by_true_votes"], printed["worst_case"], printed["delta"]) == (value.epsilon, value.worst_case, run.delta)
    assert value.epsilon <= value.worst_case
    assert value.queries == {"pate-gan": 24, "g-pate": 24}[method]
    code, out, _ = said("votes", run.id)
    assert (code, "depends on the records: not releasable" in out, "for the noisy votes alone" in " ".join(out.split())) == (0, True, True)


def test_it_is_in_nothing_that_leaves_and_in_no_list(voted: Callable[[str], Run], tmp_path: Path) -> None:
    run = voted("pate-gan")
    sample_set(here(), run.id).records(10)
    votes_run(here(), run.id)
    path = RunFolder(here(), run.id).path / "votes.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "epsilon": 123.4567}))
    assert said("votes", run.id)[1].count("123.5") == 1
    export_run(here(), run.id, tmp_path / "run.zip")
    _, members = read_archive(tmp_path / "run.zip")
    texts = [content.decode(errors="replace") for content in members.values()]
    texts += [render(dossier_of(here(), run.id)), *(said(*way)[1] for way in (("runs",), ("show", run.id), ("ledger",)))]
    texts += [said(*way, "--json")[1] for way in (("runs",), ("show", run.id), ("ledger",))]
    assert all(texts)
    assert "123.4" not in "".join(texts)
    assert "123.5" not in "".join(texts)
    assert not any("votes.json" in name for name in members)
    weights = list(unpacked_tensors(members[WEIGHTS])[0])
    assert any("generator" in name for name in weights)
    assert not any("ballots" in name for name in weights)


def test_other_runs_are_refused_with_the_names_of_the_methods_that_offer_it(voted: Callable[[str], Run]) -> None:
    assert offering() == ["g-pate", "pate-gan"]
    assert {"datalens", *offering()} <= set(METHODS)
    other = voted("datalens")
    code, _, err = said("votes", other.id)
    assert code == 2
    assert "keeps what its teachers voted (g-pate, pate-gan), got one of datalens. The analysis is of the choice" in err
    with pytest.raises(WorkbenchError, match=r"\(g-pate, pate-gan\)"):
        tasks.begin(here(), "votes", other.id, {})
    with pytest.raises(WorkbenchError, match="delta"):
        tasks.begin(here(), "votes", voted("pate-gan").id, {"delta": 1e-5})


def test_votes_that_are_gone_or_damaged_are_said(voted: Callable[[str], Run]) -> None:
    run = voted("pate-gan")
    path = RunFolder(here(), run.id).path / "votes.json"
    for damage in ("", "{}", "[1"):
        path.write_text(damage)
        with pytest.raises(DamagedFileError, match="Move it away"):
            kept_votes(here(), run.id)
    path.unlink()
    RunFolder(here(), run.id).private.unlink()
    with pytest.raises(WorkbenchError, match="kept its teachers' votes"):
        votes_run(here(), run.id)
