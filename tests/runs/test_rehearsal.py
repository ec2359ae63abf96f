"""Expected time and memory: sizes times a pace, one measurement for all epsilons, and the measurement itself."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
from support.homes import here
from support.odd_methods import odd
from support.quick import quick_plan

from workbench import datasets, experiment, tasks
from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.heartbeat import StoppedError, StopSignal
from workbench.jobs.job import WORKSPACE, Job
from workbench.methods import METHODS
from workbench.methods.base import Method
from workbench.methods.dp_promise import DPPromiseConfig
from workbench.methods.fields import dotted, part_of
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import rehearsal
from workbench.runs.pace import Line, Pace, Steps, expectation_of, keep, known_pace, line, place_of, rows_of
from workbench.runs.rehearsal import Work, stage_times
from workbench.serialization import dumps
from workbench.tasks import rehearsing
from workbench.tasks.background import in_turn
from workbench.training.state import PerformanceSettings, Step

CPU = PerformanceSettings(device="cpu", num_threads=1)
DIGITS = datasets.facts("digits")


def plan_of(epsilon: float = 10.0, **overrides: object) -> experiment.Plan:
    """A DP-MERF plan whose steps take milliseconds."""
    return experiment.make_plan("dp-merf", DIGITS, epsilon=epsilon, settings={"num_features": 50, "training.batch_size": 8} | overrides)


def niceness(job: Job) -> int:
    """Of the job's process; 0 where there is none."""
    try:
        return 0 if job.process is None else psutil.Process(job.process["pid"]).nice()
    except psutil.NoSuchProcess:
        return 0


def test_a_stage_takes_its_steps_times_the_pace_of_its_rows() -> None:
    stages = {"release": Steps(points=((1000, 2.0), (2000, 3.0))), "generator": Steps(points=((2, 1.0), (4, 1.5)))}
    pace = Pace(stages=stages, memory=Line(fixed=1e6, per_row=10.0), starting=3.0, device="cpu")
    expected = expectation_of(plan_of(**{"training.steps": 10}), pace)
    assert [(stage.stage, stage.seconds) for stage in expected.stages] == [("release", 1 + 1.5), ("generator", 10 * (0.5 + 0.25 * 8))]
    assert expected.seconds == pytest.approx(3.0 + 2.5 + 25.0)
    assert expected.peak_bytes == 1e6 + 128 * 10 + 1500 * 64 * 5


def test_one_measurement_serves_every_epsilon_and_every_size() -> None:
    keep(Pace(stages={}, memory=Line(fixed=0, per_row=0), starting=0, device="cpu"), place_of(here(), plan_of(10.0), CPU))
    assert known_pace(here(), plan_of(0.7, **{"training.steps": 9, "training.batch_size": 77}), CPU) is not None
    assert known_pace(here(), plan_of(num_features=60), CPU) is None
    assert known_pace(here(), plan_of(), PerformanceSettings(device="cpu", num_threads=2)) is None


def test_a_promise_with_another_epsilon_needs_no_other_measurement() -> None:
    def place(epsilon: float) -> object:
        return place_of(here(), experiment.make_plan("dp-promise", DIGITS, epsilon=epsilon, target="claim"), CPU)

    assert place(10.0) == place(3.0)


@pytest.mark.parametrize("kind", METHODS.values(), ids=list(METHODS))
def test_sizes_are_fields_of_the_configuration(kind: type) -> None:
    values = kind.Config().model_dump()
    assert set(kind.shapes or ()) <= {*dotted(values), *values}


@pytest.mark.parametrize("method", METHODS)
def test_the_rows_of_every_step_grow_with_the_size_that_is_asked_for(method: str) -> None:
    """Settings say what a step passes through its network: no stage that learns or looks at records is timed at one size alone."""
    plan = quick_plan(method)
    small, large = (rows_of(rehearsal._at_size(plan, rows, least)) for least, rows in enumerate((12, 768), 1))  # pyright: ignore[reportPrivateUsage]
    assert small.keys() == large.keys() == {stage.name for stage in plan.stages}
    assert {stage.name for stage in plan.stages if stage.spent != "free"} <= {name for name in small if large[name] > small[name]}
    assert all(large[name] >= small[name] for name in small)


@pytest.mark.parametrize("method", ["pate-gan", "g-pate", "datalens"])
def test_every_teacher_of_the_defaults_has_records_of_its_own_at_small_sizes(method: str) -> None:
    plan = experiment.make_plan(method, DIGITS, epsilon=10.0)
    smallest, small = (rehearsal._at_size(plan, rows, least) for least, rows in enumerate((12, 48), 1))  # pyright: ignore[reportPrivateUsage]
    assert (smallest.facts.num_records, small.facts.num_records) == (40, 80), "as many of each as its batch has"
    assert set(stage_times(smallest, CPU)) >= {"teachers", "votes", "generator"}
    assert rows_of(plan)["votes"] == plan.build().config.training.batch_size, "votes are about images that were generated"  # type: ignore[attr-defined]


def test_the_draws_of_a_record_are_rows_of_a_step() -> None:
    plan = quick_plan("dp-promise")
    rows, config = rows_of(plan), plan.build().config
    assert isinstance(config, DPPromiseConfig)
    assert rows["phase one"] == config.phase_one.batch_size * config.phase_one.draws
    assert rows["phase two"] == config.phase_two.batch_size * config.phase_two.noise_multiplicity == 40
    assert rows_of(quick_plan("class-moments"))["class sums"] == DIGITS.num_records


def test_a_step_is_read_between_the_sizes_measured_and_drawn_out_beyond() -> None:
    steps = Steps(points=((10, 1.0), (30, 2.0), (130, 3.0)))
    assert [steps.at(rows) for rows in (2, 10, 20, 30, 80, 130, 230)] == pytest.approx([0.6, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
    assert Steps(points=((1, 0.5),)).at(40) == 0.5


def test_a_line_is_never_below_nothing() -> None:
    assert line((10, 1.0), (30, 2.0)) == Line(fixed=0.5, per_row=0.05)
    assert line((10, 2.0), (30, 1.5)) == Line(fixed=0.0, per_row=0.05)
    assert line((10, 0.1), (30, 3.0)) == Line(fixed=0.0, per_row=0.1)
    assert line((1, 0.1), (1, 0.3)) == Line(fixed=0.3, per_row=0.0)


def test_a_job_measures_every_stage_behind_other_work_and_spends_nothing() -> None:
    job = rehearsing.begin(here(), plan_of(), CPU)
    assert (job.task, job.owner, rehearsing.begin(here(), plan_of(3.0), CPU).id) == ("rehearse", WORKSPACE, job.id)
    nice = []
    job = control.wait(here(), job.id, 300, lambda now: nice.append(niceness(now)))
    assert (job.state, job.attempt) == ("done", 1), control.log_tail(here(), job)
    assert max(nice) >= 10
    pace = known_pace(here(), plan_of(0.5), CPU)
    assert pace is not None
    assert set(pace.stages) == {"release", "generator"}
    assert expectation_of(plan_of(), pace).seconds > 0
    assert expectation_of(plan_of(), pace).peak_bytes > 2**20
    assert 0 < pace.starting < 300
    assert Ledger(here().ledger).entries() == []
    assert rehearsing.find_job(here(), plan_of(7.0), CPU) == job


def test_a_rehearsal_that_fails_says_why() -> None:
    job = control.wait(here(), rehearsing.begin(here(), plan_of(), CPU.model_copy(update={"device": "abacus"})).id, 300)
    assert job.state == "failed"
    assert "abacus" in (job.error or "")


def test_a_name_that_is_none_is_refused_before_it_becomes_a_path() -> None:
    for request in ({"pace": "../../runs"}, {}, {"pace": "0" * 32, "more": 1}):
        with pytest.raises(WorkbenchError, match="name of a pace"):
            tasks.begin(here(), "rehearse", WORKSPACE, request)
    with pytest.raises(WorkbenchError, match="belongs to none"):
        tasks.begin(here(), "rehearse", "abcdefgh", {"pace": "0" * 32})
    assert not here().registry.exists()


def test_background_work_takes_turns_and_who_is_cancelled_waits_no_longer() -> None:
    here().home.mkdir(exist_ok=True)
    with in_turn(here(), StopSignal()), ThreadPoolExecutor(1) as pool:
        stop = StopSignal()
        waiting = pool.submit(lambda: in_turn(here(), stop).__enter__())
        with pytest.raises(TimeoutError):
            waiting.result(0.5)
        stop.cancelled = True
        with pytest.raises(StoppedError):
            waiting.result(10)
    with in_turn(here(), StopSignal()) as waited:
        assert waited < 1


def test_stages_that_take_turns_are_measured_beyond_their_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step also prepares what the others use: it counts once."""
    kind = odd("odd-interleaved")
    monkeypatch.setitem(METHODS, kind.name, kind)
    whole = kind.fit

    def slow_at_first(self: Method, *arguments: Any) -> Iterator[Step]:
        time.sleep(0.5)
        yield from whole(self, *arguments)

    monkeypatch.setattr(kind, "fit", slow_at_first)
    seconds = stage_times(quick_plan("odd-interleaved"), CPU)
    assert sorted(seconds) == ["critic", "student"]
    first, *others = sorted((time for times in seconds.values() for time in times), reverse=True)
    assert len(others) >= 4
    assert max(others) < 0.4 < 0.5 <= first


def test_the_first_step_counts_once_and_grows_with_the_rows() -> None:
    steps = Steps.from_points([(10, 1.0), (30, 2.0)], 1.0, [(10, 5.0), (30, 9.0)])
    assert [steps.of(count, 20) for count in (1, 3)] == pytest.approx([7.0 + 1.5, 7.0 + 4.5])
    level = Steps.from_points([(10, 1.0), (30, 2.0)], 1.0, [(10, 5.0), (30, 4.0)])
    assert level.of(1, 3000) == pytest.approx(4.0 + level.at(3000)), "what takes as long at more rows does not grow"


@pytest.mark.parametrize("method", ["aim", "mst", "independent-marginals"])
def test_releases_that_build_on_one_another_are_timed_in_all_stages(method: str) -> None:
    facts = datasets.facts("breast-cancer")
    plan = experiment.make_plan(method, facts, epsilon=1.0)
    sized = plan.at(plan.build(), facts.model_copy(update={"num_records": 48}))
    assert set(stage_times(sized, CPU)) == {stage.name for stage in plan.build().stages(facts)}


def pace_with(points: tuple[tuple[float, float], ...], others: float, spread: float = 1.0, taken: float = 0.0) -> Pace:
    """A pace of DP-MERF's generator; its release takes no time."""
    stages = {"release": Steps(points=((1.0, 0.0),)), "generator": Steps.from_points(points, spread)}
    return Pace(stages=stages, memory=Line(fixed=0, per_row=0), starting=1.0, device="cpu", others=others, taken=taken)


def test_times_that_cannot_be_are_refused_and_what_was_timed_is_made_possible() -> None:
    seen = ((2.0, 3.9), (6.0, 1.0), (24.0, 2.0))  # as it was once, beside other work
    with pytest.raises(ValueError, match="times that grow with the rows"):
        Steps(points=seen)
    assert Steps.from_points(seen).points == ((2.0, 1.0), (6.0, 1.0), (24.0, 2.0))
    path = place_of(here(), plan_of(), CPU)
    keep(pace_with(((2.0, 1.0), (6.0, 3.9)), 0.0), path)
    assert known_pace(here(), plan_of(), CPU) is not None
    path.write_text(path.read_text().replace("3.9", "0.9"))
    assert known_pace(here(), plan_of(), CPU) is None


def test_a_disturbed_measurement_is_made_again_and_the_faster_times_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    path, calm, now = place_of(here(), plan_of(), CPU), pace_with(((2.0, 0.1), (8.0, 0.4)), 0.1, 1.5), time.time()
    keep(pace_with(((2.0, 3.9), (8.0, 0.3)), 0.9, 4.0, now), path)
    monkeypatch.setattr(rehearsal, "measure", lambda *_: calm)
    (path.with_suffix(".plan.json")).write_text(dumps({"plan": plan_of(), "performance": CPU}))
    rehearsal.rehearse(here(), path.stem, 0.0)
    pace = known_pace(here(), plan_of(), CPU)
    assert pace is not None
    assert (pace.others, pace.is_disturbed, pace.is_due) == (0.9, True, False)  # only a moment ago: not yet
    keep(pace.model_copy(update={"taken": now - 3600}), path)
    rehearsal.rehearse(here(), path.stem, 0.0)
    pace = known_pace(here(), plan_of(), CPU)
    assert pace is not None
    assert (pace.stages["generator"].points, pace.stages["generator"].spread, pace.others) == (((2.0, 0.1), (8.0, 0.3)), 1.5, 0.1)
    monkeypatch.setattr(rehearsal, "measure", None)
    rehearsal.rehearse(here(), path.stem, 0.0)  # a calm one stands


def test_an_expected_time_is_an_interval_from_the_fastest_steps_to_the_usual_ones() -> None:
    expected = expectation_of(plan_of(**{"training.steps": 10}), pace_with(((8.0, 0.4),), 0.5, 2.5))
    assert expected.interval == pytest.approx((1 + 4.0, 1 + 10.0))
    assert expected.others == 0.5


def test_the_work_of_other_processes_is_told_from_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Work(moment=0.0, done=10.0, own=1.0)
    monkeypatch.setattr(Work, "now", classmethod(lambda cls: cls(moment=10.0, done=10.0 + 16.0, own=1.0 + 6.0)))
    monkeypatch.setattr(psutil, "cpu_count", lambda: 4)
    assert before.others() == pytest.approx(10.0 / 40.0)


@pytest.mark.parametrize("method", METHODS)
def test_other_numbers_of_steps_need_no_other_measurement(method: str) -> None:
    shapes = METHODS[method].shapes
    given = dotted(METHODS[method].Config().model_dump())
    assert [name for name in part_of(given, shapes or ()) if name.rpartition(".")[2] == "steps"] == []
