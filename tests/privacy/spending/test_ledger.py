"""The ledger never counts less than what touched the data, whoever is killed, and totals stay under one relation."""

import math
import os
import random
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from dp_accounting import GaussianDpEvent, NonPrivateDpEvent, PoissonSampledDpEvent, UnsupportedDpEvent
from support.homes import here
from support.two_phases import TwoPhases

from workbench.errors import WorkbenchError
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.stages import Stage, compose
from workbench.privacy.spending.ledger import Ledger
from workbench.serialization import dumps

DPSGD = Stage("train", PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), "per_step", 1000)
MERF = Stage("embedding", GaussianDpEvent(5.0), "once")
PUBLIC = Stage("public", None, "free", 50)
DELTA = 1e-5

CHARGE_UNTIL_KILLED = """
import sys
from pathlib import Path
from workbench.privacy.spending.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
for step in range(int(sys.argv[2]), 100001):
    ledger.charge("run", "train", step)
    print(step, flush=True)
"""


OPEN_AND_CHARGE = """
import sys
from pathlib import Path
from dp_accounting import GaussianDpEvent
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.accounting.stages import Stage
sys.stdin.readline()
ledger = Ledger(Path(sys.argv[1]))
stages = [Stage("train", GaussianDpEvent(1.0), "per_step", 100)]
ledger.open_run(sys.argv[2], "data", "digits", "dpdm", stages, 1e-5)
for step in range(1, int(sys.argv[3]) + 1):
    ledger.charge(sys.argv[2], "train", step)
    ledger.charge_again("shared", "train", 1)
"""


@pytest.fixture
def ledger(workbench_home: Path) -> Ledger:
    """A ledger with one run of three stages."""
    ledger = Ledger(here().ledger)
    ledger.open_run("run", "data", "digits", "dpdm", [PUBLIC, MERF, DPSGD], DELTA)
    return ledger


def counts(ledger: Ledger, run_id: str = "run") -> dict[str, int]:
    """Spent steps by stage."""
    return {stage.stage: stage.count for stage in ledger.spent(run_id)}


def test_lives_in_the_workbench_home_and_survives_reopening(ledger: Ledger, workbench_home: Path) -> None:
    ledger.charge("run", "train", 3)
    assert ledger.path == workbench_home / "ledger.sqlite"
    assert counts(Ledger(here().ledger)) == {"public": 0, "embedding": 0, "train": 3}


def test_charge_is_a_high_water_mark_and_charge_again_adds(ledger: Ledger) -> None:
    for step in (1, 2, 3, 4, 2, 3, 4, 5):
        ledger.charge("run", "train", step)
    ledger.charge("run", "embedding", 1)
    ledger.charge("run", "embedding", 1)
    assert counts(ledger) == {"public": 0, "embedding": 1, "train": 5}
    ledger.charge_again("run", "train", 3)
    assert counts(ledger)["train"] == 8
    assert ledger.spent("run")[2].reserved == 1003


def test_what_is_spent_and_its_epsilon(ledger: Ledger) -> None:
    assert ledger.epsilon_spent("run", DELTA).epsilon == 0.0
    ledger.charge("run", "embedding", 1)
    ledger.charge("run", "train", 10)
    stages = [MERF, Stage("train", DPSGD.event, "per_step", 10)]
    assert compose(ledger.entry("run").paid_stages()) == compose(stages)
    assert ledger.epsilon_spent("run", DELTA).epsilon == pytest.approx(proved_bound(stages, DELTA).epsilon)


@pytest.mark.parametrize("step", [0, -1, 1001])
def test_a_step_outside_the_plan_is_refused(ledger: Ledger, step: int) -> None:
    with pytest.raises(WorkbenchError, match=r"1\.\.1000"):
        ledger.charge("run", "train", step)
    assert counts(ledger)["train"] == 0


def test_unknown_names_and_changed_plans_are_refused(ledger: Ledger) -> None:
    with pytest.raises(WorkbenchError, match="stage the ledger knows"):
        ledger.charge("run", "tuning", 1)
    with pytest.raises(WorkbenchError, match="stage the ledger knows"):
        ledger.charge("other", "train", 1)
    with pytest.raises(WorkbenchError, match="stages it was opened with"):
        ledger.open_run("run", "data", "digits", "dpdm", [DPSGD], DELTA)
    with pytest.raises(WorkbenchError, match="different names"):
        ledger.open_run("twice", "data", "digits", "dpdm", [DPSGD, DPSGD], DELTA)
    with pytest.raises(WorkbenchError, match="run the ledger knows"):
        ledger.spent("other")


def test_a_resume_reopens_the_run_with_its_counts(ledger: Ledger) -> None:
    ledger.charge("run", "train", 7)
    ledger.close_run("run")
    assert ledger.entries("data")[0].closed_at is not None
    ledger.open_run("run", "data", "digits", "dpdm", [PUBLIC, MERF, DPSGD], DELTA)
    assert ledger.entries("data")[0].closed_at is None
    assert counts(ledger)["train"] == 7


def test_total_composes_all_runs_finished_or_not_and_any_subset(ledger: Ledger) -> None:
    ledger.charge("run", "train", 500)
    ledger.open_run("tuning", "data", "digits", "dpdm", [DPSGD], DELTA, purpose="tuning")
    ledger.charge("tuning", "train", 300)
    ledger.open_run("elsewhere", "other data", "glyphs", "dpdm", [DPSGD], DELTA)
    ledger.charge("elsewhere", "train", 1000)
    special = ("REPLACE_SPECIAL",)
    expected = proved_bound([Stage("train", DPSGD.event, "per_step", 800, special)], DELTA).epsilon
    total = ledger.total("data")
    assert total.epsilon == pytest.approx(expected)
    assert total.status == "proved"
    assert total.neighboring_relation == "REPLACE_SPECIAL"
    assert ledger.total("data", ["tuning"]).epsilon < total.epsilon
    with pytest.raises(WorkbenchError, match="elsewhere"):
        ledger.total("data", ["elsewhere"])


def test_a_replace_one_release_enters_the_total_by_its_zero_out_form(ledger: Ledger) -> None:
    stage = Stage("embedding", ReplaceOneGaussianDpEvent(5.0, 0.5), "once", 1, ("REPLACE_ONE",))
    ledger.open_run("merf", "data", "digits", "dp-merf", [stage], DELTA)
    ledger.charge("merf", "embedding", 1)
    assert ledger.epsilon_spent("merf", DELTA).neighboring_relation == "REPLACE_ONE"
    assert ledger.total("data", ["merf"]).epsilon == pytest.approx(gdp_epsilon(0.1, DELTA))


def test_both_phases_of_dp_promise_enter_the_total_as_they_are(ledger: Ledger) -> None:
    stages = TwoPhases(noise_multiplier=7.0).renoised_stages()
    ledger.open_run("promise", "mnist", "mnist", "dp-promise", stages, DELTA)
    for stage in stages:
        ledger.charge("promise", stage.name, stage.steps)
    total = ledger.total("mnist")
    assert total.epsilon == pytest.approx(1.0124, abs=5e-5)
    assert (total.neighboring_relation, total.status) == ("REPLACE_SPECIAL", "proved")
    ledger.open_run("merf", "mnist", "mnist", "dp-merf", [Stage("embedding", ReplaceOneGaussianDpEvent(5.0, 0.5), "once")], DELTA)
    ledger.charge("merf", "embedding", 1)
    both = [*stages, Stage("embedding", GaussianDpEvent(10.0), "once")]
    assert ledger.total("mnist").epsilon == pytest.approx(proved_bound(both, DELTA).epsilon, rel=1e-6)
    assert ledger.total("mnist", ["promise"]).epsilon == pytest.approx(total.epsilon)


def test_an_unsupported_event_makes_the_total_infinite_by_name(ledger: Ledger) -> None:
    ledger.open_run("odd", "data", "digits", "new", [Stage("unheard of", UnsupportedDpEvent(), "once")], DELTA)
    ledger.charge("odd", "unheard of", 1)
    total = ledger.total("data")
    assert (total.epsilon, total.status, total.neighboring_relation) == (math.inf, "not_proved", "REPLACE_SPECIAL")
    assert "'unheard of'" in total.reason
    assert "run odd" in total.reason


def test_runs_that_choose_settings_count_like_any_other(ledger: Ledger) -> None:
    for run_id, purpose in (("a", "training"), ("b", "tuning")):
        ledger.open_run(run_id, "other", "digits", "dpdm", [DPSGD], DELTA, purpose=purpose)  # pyright: ignore[reportArgumentType]
        ledger.charge(run_id, "train", 100)
    assert ledger.total("other", ["b"]) == ledger.total("other", ["a"])
    assert ledger.total("other").epsilon > ledger.total("other", ["a"]).epsilon


def test_a_refuted_release_makes_the_total_infinite_with_its_own_reason(ledger: Ledger) -> None:
    stage = Stage("triples", UnprovedDpEvent("The triples hold records verbatim.", "refuted"), "once", 1, ("REPLACE_ONE",))
    ledger.open_run("dpgen", "data", "digits", "dpgen", [stage], DELTA)
    ledger.charge("dpgen", "triples", 1)
    total = ledger.total("data")
    assert (total.status, math.isinf(total.epsilon)) == ("refuted", True)
    assert "run dpgen" in total.reason
    assert "verbatim" in total.reason


def test_a_stage_without_a_bound_makes_the_total_infinite_by_name(ledger: Ledger) -> None:
    ledger.charge("run", "train", 5)
    ledger.open_run("plain", "data", "digits", "nonprivate", [Stage("fit", NonPrivateDpEvent(), "per_step", 9)], DELTA)
    assert ledger.total("data").is_finite
    ledger.charge("plain", "fit", 1)
    total = ledger.total("data")
    assert math.isinf(total.epsilon)
    assert "'fit'" in total.reason
    assert "run plain" in total.reason
    assert total.status != "proved"


def test_warning_counts_what_open_runs_may_still_spend(ledger: Ledger) -> None:
    assert ledger.warning_before("data", [DPSGD], DELTA) is None
    one = ledger_total_of(1000)
    ledger.set_budget("data", 1.2 * one, DELTA)
    ledger.charge("run", "train", 10)
    warning = ledger.warning_before("data", [DPSGD], DELTA)
    assert warning is not None
    assert f"{1.2 * one:.4g}" in warning
    ledger.close_run("run")
    assert ledger.warning_before("data", [DPSGD], DELTA) is None
    budget = ledger.budget("data")
    assert budget is not None
    assert (budget.epsilon, budget.delta) == (1.2 * one, DELTA)


def ledger_total_of(steps: int) -> float:
    """Epsilon of `steps` DP-SGD steps under the zero-out relation."""
    stage = Stage("train", DPSGD.event, "per_step", steps, ("REPLACE_SPECIAL",))
    return proved_bound([stage], DELTA).epsilon


def test_entries_are_plain_values(ledger: Ledger) -> None:
    ledger.charge("run", "train", 2)
    text = dumps(ledger.entries())
    assert '"charged": 2' in text
    assert '"dataset": "digits"' in text


def test_two_processes_launch_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(path).open_run("shared", "data", "digits", "dpdm", [DPSGD], DELTA)
    commands = [[sys.executable, "-c", OPEN_AND_CHARGE, str(path), f"run-{i}", str(25 + i)] for i in range(2)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in commands]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.close()
    assert [process.wait() for process in processes] == [0, 0]
    assert {entry.run_id: entry.stages[0].count for entry in Ledger(path).entries("data")} == {"shared": 51, "run-0": 25, "run-1": 26}


def test_threads_share_one_ledger(ledger: Ledger) -> None:
    threads = [threading.Thread(target=ledger.charge_again, args=("run", "train", 1)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(ledger)["train"] == 16


def test_a_killed_process_never_leaves_a_count_below_what_it_touched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger(path)
    ledger.open_run("run", "data", "digits", "dpdm", [Stage("train", DPSGD.event, "per_step", 100_000)], DELTA)
    draw = random.Random(0)
    touched = 0
    for _ in range(20):
        command = [sys.executable, "-c", CHARGE_UNTIL_KILLED, str(path), str(touched + 1)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        stop = touched + draw.randint(1, 15)
        for line in process.stdout:
            touched = int(line)
            if touched >= stop:
                os.kill(process.pid, signal.SIGKILL)
                break
        touched = max([touched, *(int(line) for line in process.stdout)])  # printed before the signal arrived
        process.wait()
        assert touched >= stop
        assert touched <= ledger.spent("run")[0].count <= touched + 1


def test_a_run_of_before_is_resumed_although_its_relations_stood_in_another_order(workbench_home: Path) -> None:
    """And keeps reporting the relation that it was opened with."""
    stage = Stage("embedding", ReplaceOneGaussianDpEvent(5.0, 0.5), "once", 1, ("REPLACE_ONE", "REPLACE_SPECIAL"))
    ledger = Ledger(here().ledger)
    for relations in (stage.relations, ("REPLACE_SPECIAL", "REPLACE_ONE")):
        ledger.open_run("old", "data", "digits", "dp-merf", [replace(stage, relations=relations)], DELTA)
    ledger.charge("old", "embedding", 1)
    assert ledger.epsilon_spent("old", DELTA).neighboring_relation == "REPLACE_ONE"
    with pytest.raises(WorkbenchError, match="stages it was opened with"):
        ledger.open_run("old", "data", "digits", "dp-merf", [replace(stage, relations=("REPLACE_ONE",))], DELTA)
