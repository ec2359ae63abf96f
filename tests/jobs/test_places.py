"""Which job fits, and what is foreseen of it: the queue's rule, by hand."""

import pytest

from workbench.jobs.job import Job, Terms
from workbench.jobs.queue.forecast import ExpectedTimes, foresee
from workbench.jobs.queue.places import PAUSED, Room, assign


def job(name: str, device: str = "cpu", share: float = 1.0, memory: int = 0, **life: object) -> Job:
    terms = Terms(title="work", device=device, cpu_share=share, memory=memory)
    return Job.model_validate(
        {"id": name, "state": "queued", "created": 0.0, "task": "t", "owner": "", "request": {}, "terms": terms} | life
    )


def started(waiting: list[Job], at_work: list[Job], room: Room) -> dict[str, str]:
    """The device of each job that may start, by its id."""
    return {turn.job.id: turn.device for turn in assign(waiting, at_work, room) if turn.fits}


def reasons(waiting: list[Job], at_work: list[Job], room: Room) -> list[str]:
    return [turn.reason for turn in assign(waiting, at_work, room)]


def test_one_run_and_a_measure_beside_it() -> None:
    waiting = [job("b"), job("m1", share=0.5), job("m2", share=0.5), job("c")]
    assert started(waiting, [job("a")], Room()) == {"m1": "cpu"}
    assert started(waiting, [], Room()) == {"b": "cpu", "m1": "cpu"}
    assert started(waiting, [job("a")], Room(cpu_runs=3)) == {"b": "cpu", "m1": "cpu", "m2": "cpu"}
    assert reasons(waiting, [job("a")], Room(cpu_runs=3))[-1] == "it waits for measures that share the CPU"
    assert started(waiting, [job("a")], Room(cpu_runs=4)) == {"b": "cpu", "m1": "cpu", "m2": "cpu", "c": "cpu"}


def test_where_no_run_waits_measures_take_its_room_and_never_keep_one_out() -> None:
    naps = [job(f"m{number}", share=0.5) for number in range(4)]
    assert list(started(naps, [], Room())) == ["m0", "m1", "m2"]
    assert started([job("a"), naps[3]], naps[:3], Room()) == {}, "three are too many for a run, and a fourth is not to come before it"
    assert started([job("a"), naps[3]], naps[:2], Room()) == {}
    assert started([job("a"), naps[3]], naps[:1], Room()) == {"a": "cpu"}


def test_one_run_a_gpu() -> None:
    room = Room(gpus=2)
    assert started([job("a", "cuda"), job("b", "cuda"), job("c", "cuda"), job("d")], [], room) == {"a": "cuda:0", "b": "cuda:1", "d": "cpu"}
    assert started([job("b", "cuda")], [job("a", "cuda", placed="cuda:0")], room) == {"b": "cuda:1"}
    named = [job("b", "cuda:1"), job("c", "cuda")]
    assert started(named, [job("a", "cuda:1")], room) == {"c": "cuda:0"}
    assert reasons(named, [job("a", "cuda:1")], room)[0] == "it waits for cuda:1, which a has"
    assert reasons([job("c", "cuda")], [job("a", "cuda:0"), job("b", "cuda:1")], room) == ["it waits for a GPU"]
    assert started([job("a", "cuda")], [], Room(gpus=0)) == {"a": "cuda"}, "its own process says that there is none"


def test_memory_is_kept_for_the_first_that_waits_for_it() -> None:
    room = Room(cpu_runs=4, memory=8 * 2**30)
    large, small = job("b", memory=6 * 2**30), job("c", memory=2 * 2**30)
    assert started([large, small], [job("a", memory=3 * 2**30)], room) == {}
    assert reasons([large], [job("a", memory=3 * 2**30)], room) == [
        "it waits for memory: it takes about 6.0 GiB of 8.0 GiB, others the rest"
    ]
    assert started([small], [job("a", memory=3 * 2**30)], room) == {"c": "cpu"}
    assert started([job("b", memory=9 * 2**30)], [], room) == {"b": "cpu"}, "alone it may try"


def test_in_a_paused_queue_only_what_takes_no_place_starts() -> None:
    waiting = [job("a"), job("g", "cuda"), job("n", share=0.0)]
    assert started(waiting, [], Room(gpus=1, paused=True)) == {"n": "cpu"}
    assert reasons(waiting, [], Room(gpus=1, paused=True)) == [PAUSED, PAUSED, ""]


def test_times_are_those_that_the_rule_gives() -> None:
    at_work = [job("a", state="running", started=90.0)]
    waiting = [job("b"), job("m", share=0.5), job("c")]
    takes = {"a": 40.0, "b": 10.0, "m": 5.0, "c": 1.0}
    times = foresee(waiting, at_work, Room(), lambda one: takes[one.id], now=100.0)
    assert times == {
        "a": ExpectedTimes(90.0, 130.0),
        "m": ExpectedTimes(100.0, 105.0),
        "b": ExpectedTimes(130.0, 140.0),
        "c": ExpectedTimes(140.0, 141.0),
    }
    two = foresee(waiting, at_work, Room(cpu_runs=2), lambda one: takes[one.id], now=100.0)
    assert (two["b"], two["c"]) == (ExpectedTimes(100.0, 110.0), ExpectedTimes(110.0, 111.0))


def test_behind_a_job_of_unknown_length_nothing_is_foreseen() -> None:
    takes = {"a": 40.0, "b": None, "c": 1.0}
    times = foresee([job("b"), job("c")], [job("a", state="running", started=90.0)], Room(), lambda one: takes[one.id], now=100.0)
    assert (times["b"], times["c"]) == (ExpectedTimes(130.0, None), ExpectedTimes(None, None))
    paused = foresee([job("c")], [], Room(paused=True), lambda one: takes[one.id], now=100.0)
    assert paused["c"] == ExpectedTimes(None, None)


def test_a_job_at_work_ends_at_its_own_pace_and_not_in_the_past() -> None:
    half = job("a", state="running", started=90.0, heartbeat=100.0, step=50, steps=100)
    assert foresee([], [half], Room(), lambda _: 1000.0, now=100.0)["a"].ends == pytest.approx(110.0)
    late = job("a", state="running", started=10.0)
    assert foresee([], [late], Room(), lambda _: 5.0, now=100.0)["a"].ends == 100.0
    assert foresee([], [late], Room(), lambda _: None, now=100.0)["a"].ends is None
