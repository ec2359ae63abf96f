"""PAC audits: real re-draws of half of the records, one function of each, and the papers' variant beside."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
import pytest
from support.homes import here
from support.launchers import Here

from workbench import experiment, tasks
from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.jobs.launchers import LAUNCHERS
from workbench.plan import Plan
from workbench.privacy.not_dp.pac import NOT_REDRAWN, success_probability
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import pac_audits
from workbench.runs.folder import RunFolder
from workbench.runs.pac_audits import half_of, images_of, kept_pac, pac_rows, pac_run
from workbench.runs.pac_request import PacRequest
from workbench.runs.run import Run

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]
ASKED = PacRequest(draws=3, images=4, seed=5)


def test_every_training_sees_a_random_half_with_the_same_noise(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train_here(quick_plan())
    seen: list[Any] = []
    fit = experiment.fit
    monkeypatch.setattr(experiment, "fit", lambda plan, data, *rest: (seen.append((plan, data)), fit(plan, data, *rest))[1])
    before, shares = len(Ledger(here().ledger).entries()), list[float]()
    audit = pac_run(here(), run.id, ASKED, shares.append)
    assert shares == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert [len(data.train) for _, data in seen] == [750] * 3 == [audit.half] * 3
    assert len({plan.config["noise_multiplier"] for plan, _ in seen} | {run.plan.config["noise_multiplier"]}) == 1
    halves = [set(half_of(1500, 5, draw)) for draw in range(3)]
    assert all(250 < len(one & other) < 500 for one, other in ((halves[0], halves[1]), (halves[1], halves[2])))
    again = images_of(here().home, here().data, run.id, ASKED, 1)
    assert np.array_equal(again[1], images_of(here().home, here().data, run.id, ASKED, 1)[1]), "a function of the half alone"
    assert len(Ledger(here().ledger).entries()) == before
    assert kept_pac(here(), run.id, ASKED) == audit == pac_run(here(), run.id, ASKED)
    assert len(seen) == 5, "nothing is trained twice"
    assert "neither this run" in audit.covers
    assert audit.guesses["0.1"] == pytest.approx(success_probability(1.0, 0.1))


def test_rows_are_those_of_the_formula_and_only_re_draws_hold() -> None:
    outputs = np.random.default_rng(0).uniform(-1, 1, (30, 5, 6))
    limit, certain, one = pac_rows(outputs)
    roots = [np.sqrt(np.linalg.eigvalsh(np.cov(outputs[:, image].T, bias=True))).sum() for image in range(5)]
    assert limit.high >= limit.mean_norm >= limit.low > 0
    assert limit.mean_norm == pytest.approx(np.mean(roots), rel=0.1), "E||B||^2 = (sum of roots)^2 / (2 v), v = .5"
    assert limit.mean_norm <= np.mean(roots)
    assert certain.low > limit.high, "confidence costs"
    assert (limit.holds, certain.holds, one.holds) == (False, True, False)
    assert NOT_REDRAWN in one.labels
    root = np.sqrt(np.linalg.eigvalsh(np.cov(outputs[0].T, bias=True)).clip(0)).sum()
    assert one.mean_norm == pytest.approx(root, rel=0.1)


def test_trainings_side_by_side_give_what_one_after_the_other_gives(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, request = train_here(quick_plan()), PacRequest(draws=2, images=2)
    monkeypatch.setenv("WORKBENCH_THREADS", "1")
    alone = dict(pac_audits._side_by_side(here(), run.id, request))
    monkeypatch.setenv("WORKBENCH_THREADS", "2")
    together = dict(pac_audits._side_by_side(here(), run.id, request))
    assert sorted(together) == [0, 1]
    assert all(np.array_equal(together[draw], alone[draw]) for draw in alone)


def test_a_command_tells_what_is_measured(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    run = train_here(quick_plan())
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["pac", run.id, "--draws", "2", "--images", "3", "--json"])
    assert not ended.value.code
    shown = json.loads(capsys.readouterr().out)
    assert [row["holds"] for row in shown["rows"]] == [False, True, False]
    assert shown["releasable"] is False
    with pytest.raises(WorkbenchError, match="draws"):
        tasks.begin(here(), "pac", run.id, {"draws": 1})


def test_an_audit_that_died_trains_only_what_it_had_not(quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run, whole = train_here(quick_plan()), PacRequest(draws=3, images=2)
    made, images_of = list[int](), pac_audits.images_of

    def dying(home: Any, data: Any, run_id: str, request: PacRequest, draw: int) -> Any:
        made.append(draw)
        if made == [0, 1]:
            raise OSError("gone")
        return images_of(home, data, run_id, request, draw)

    with monkeypatch.context() as patched:
        patched.setattr(pac_audits, "images_of", dying)
        with pytest.raises(OSError, match="gone"):
            pac_run(here(), run.id, whole)
        again, shares = kept_pac(here(), run.id, whole), list[float]()
        audit = pac_run(here(), run.id, whole, shares.append)
    assert (again, made, shares) == (None, [0, 1, 1, 2], pytest.approx([2 / 3, 1.0]))
    folder = RunFolder(here(), run.id).path
    assert [path.name for path in folder.glob("pac-*")] == ["pac-3-2-0.json"], "what was kept on the way is gone"
    (folder / "pac-3-2-0.json").unlink()
    assert pac_run(here(), run.id, whole) == audit


def test_trainings_end_with_an_audit_that_is_killed() -> None:
    started = (
        "import os, time; from concurrent.futures import ProcessPoolExecutor; from multiprocessing import get_context\n"
        "from workbench.runs.pac_audits import end_with_parent\n"
        "pool = ProcessPoolExecutor(1, mp_context=get_context('spawn'), initializer=end_with_parent)\n"
        "print(pool.submit(os.getpid).result(), flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", started], stdout=subprocess.PIPE, text=True) as audit:
        assert audit.stdout is not None
        training = psutil.Process(int(audit.stdout.readline()))
        audit.kill()
    deadline = time.monotonic() + 60
    while training.is_running() and training.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "it waits for work for ever"
        time.sleep(0.1)
