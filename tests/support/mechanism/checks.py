"""What each kind of event says of its mechanism, held against what happened."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from dp_accounting import dp_event

from support.mechanism import statistics
from support.mechanism.events import At, Changes, Chosen, Drawn, Floats, Released, Sampled, Updated, Window
from support.mechanism.finding import Finding, p_value
from support.mechanism.flow import apart, ends, freshness, spending, times
from support.mechanism.quiet import moved_by_parts, reads_quiet_parts
from support.mechanism.recording import LEAST_GROWTH, SAMPLERS, Bench, replaced
from support.mechanism.replay import follows, other_data
from workbench.errors import WorkbenchError
from workbench.privacy.accounting import events as own
from workbench.privacy.accounting.stages import Stage
from workbench.training.dp_sgd import DPSGD
from workbench.training.mixing import MIXED
from workbench.training.parts import Parts
from workbench.training.randomness import Randomness
from workbench.training.state import State

FLAT = {"psg", "dp-gan", "dp-cgan"}  # whose loss is flat where weights are large; its gradients are longer than the norm as they are
MOVED = ("replaced record", "null record")
OF_THE_FLOW = {
    "spending", "spending comes first", "freshness", "follows from releases", "free", "quiet", "private", "without release", "boundary",
}  # fmt: skip
SINGLE = 2e-3  # relative, of differences of releases in single precision


def growth(bench: Bench) -> float:
    """Times the weights, so that every gradient is longer than the clipping norm."""
    return 1.0 if bench.plan.method in FLAT else bench.growth


def findings(bench: Bench, only: str | None = None) -> list[Finding]:
    """Everything that the harness measures of one method; with `only`, of the flow and of the stage of that name."""
    stages = bench.method.stages(bench.plan.facts)
    if only is not None:
        return [*flow(bench, stages), *mechanisms(bench, stages, only)]
    return [*flow(bench, stages), *apart(bench), *mechanisms(bench, stages), *together(bench, stages)]


def is_found(bench: Bench, stage: str, quantity: str, only: str) -> bool:
    """Whether something of a stage does not hold, looked for until it is found in the flow and in the mechanism of the stage `only`."""
    stages = bench.method.stages(bench.plan.facts)
    parts = [flow(bench, stages), mechanisms(bench, stages, only)]
    all_findings = itertools.chain(*(parts if quantity in OF_THE_FLOW else reversed(parts)))
    return any((finding.stage, finding.quantity, finding.holds) == (stage, quantity, False) for finding in all_findings)


def flow(bench: Bench, stages: list[Stage]) -> Iterator[Finding]:
    """What holds of the whole fit, one finding after the other."""
    for check in (spending, follows, freshness, times):
        yield from check(bench, stages)


def mechanisms(bench: Bench, stages: list[Stage], only: str | None = None) -> Iterator[Finding]:
    """What holds of each paid stage by its event, of all or of the one of that name."""
    for stage in stages:
        if stage.spent != "free" and only in (None, stage.name):
            yield from of_event(bench, stage)


def violations(all_findings: list[Finding]) -> list[Finding]:
    """The findings that do not hold."""
    return [finding for finding in all_findings if not finding.holds]


def of_event(bench: Bench, stage: Stage) -> list[Finding]:
    """The findings on a paid stage by the kind of its event; an event without a mechanism must have no finite bound."""
    check = None if stage.event is None else CHECKS.get(type(stage.event))
    if check is not None:
        return within_precision(bench, lambda: list(check(bench, stage)))
    if isinstance(stage.event, dp_event.NoOpDpEvent):
        return []  # `follows` sees that what is released stays as it was
    infinite = not bench.plan.bound.is_finite
    return [Finding(stage.name, "mechanism", "one that the harness knows, or no finite bound", type(stage.event).__name__, infinite)]


def within_precision(bench: Bench, measure: Callable[[], list[Finding]]) -> list[Finding]:
    """What is measured; with weights that grow less, where at the largest no loss of a record is the same twice in single precision.

    A loss that does depend on the other records is refused at any growth, and the measure fails with it.
    """
    try:
        return measure()
    except WorkbenchError as error:
        if bench.growth == LEAST_GROWTH or not str(error).startswith(MIXED):
            raise
        bench.growth = LEAST_GROWTH
        return measure()


# How batches are drawn


def batches(
    bench: Bench, stage: Stage, sampler: str, stated: float, p_values: Callable[..., dict[str, float]], total: int = 0
) -> Iterator[Finding]:
    """Each step draws one batch of `total` (of all records) by `sampler`; the call that was recorded is repeated at many steps."""
    drawn = [window.of(Sampled) for window in bench.whole if window.at[0] == stage.name]
    proper = all(len(step) == 1 and step[0].sampler == sampler for step in drawn)
    kinds = sorted({call.sampler for step in drawn for call in step})
    yield Finding(stage.name, "sampling", f"one {sampler} a step", f"{[len(step) for step in drawn]} of {kinds}", proper)
    if not proper:
        return
    calls = [step[0] for step in drawn]
    num_records = total or bench.plan.facts.num_records
    yield Finding(stage.name, "sampling", f"from {num_records}", calls[0].num_records, all(c.num_records == num_records for c in calls))
    steps = [call.step for call in calls]
    yield Finding(stage.name, "freshness", "a batch a step", f"drawn for {steps}", len(set(steps)) == len(steps))
    alike = [1 for one, two in itertools.pairwise(calls) if len(one.indices) > 3 and np.array_equal(one.indices, two.indices)]
    yield Finding(stage.name, "freshness", "batches of their own", f"{len(alike)} equal to the one before", not alike)
    kept = sum(len(call.indices) for call in calls)
    yield p_value(stage, "sampling rate", statistics.binomial(kept, num_records * len(calls), stated), stated)
    call, randomness = calls[0], Randomness.from_seed(7)
    again = {
        number: SAMPLERS[sampler](randomness, call.purpose, 10**6 + number, call.num_records, call.rate_or_size)
        for number in range(1, statistics.SIMULATED + 1)
    }
    for quantity, value in p_values(statistics.members(again.__getitem__, num_records), list(again.values())).items():
        yield p_value(stage, quantity, value, stated)


# DP-SGD: a noisy sum over a Poisson batch


def poisson_sum(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """Rate, noise, clipping, divisor and sensitivity of a Poisson-sampled noisy sum, of gradients or written to the state."""
    event: Any = stage.event
    rate, noise_multiplier = event.sampling_probability, own.effective_noise_multiplier(event.event)
    assert noise_multiplier is not None
    if stage.name not in bench.known:
        yield from batches(bench, stage, "poisson_batch", rate, lambda member, _orders: statistics.poisson_p_values(member, rate))
    for at in ends(bench, stage.name):
        if clips_whole(bench, stage):
            yield from noisy_gradient(bench, stage, at, noise_multiplier)
        elif bench.window(at).of(Updated):
            yield from noisy_sum(bench, stage, at, noise_multiplier)
        else:
            yield from written_sum(bench, stage, at)


def written_sum(bench: Bench, stage: Stage, at: At) -> Iterator[Finding]:
    """A step that writes its release to the state: its noise, and how far a record of the batch moves it, alone and among others."""
    window, nobody = bench.window(at), np.arange(0)
    if not window.release.size:
        yield Finding(stage.name, "noise", "a release", "none", False)
        return
    keys = min(500, max(8, 8000 // window.release.size))
    releases = np.stack([bench.again(at, changes=Changes({at: nobody}, key=key)).release for key in range(1, keys + 1)])
    noisy = (releases != releases[0]).any(0)
    if not noisy.any():
        yield Finding(stage.name, "noise", "a release with noise", "none", False)
        return
    noise, reach = statistics.deviation(releases[:, noisy])
    yield p_value(stage, "noise", statistics.coordinates_p_value(releases[:, noisy]), "of its own in every coordinate")
    kinds = sorted({drawn.kind for drawn in window.normals})
    yield Finding(stage.name, "noise", "in integers, on a grid", f"{kinds}", kinds == ["floored_normal"])
    moved = {batch: in_batch(bench, at, batch) for batch in ((0,), (0, 3, 4, 5))}
    most = {name: max(distances[name] for distances in moved.values()) for name in ("null record", "replaced record")}
    reach += SINGLE
    stated = stage.distances
    assert stated is not None
    yield within(stage, "null record", most["null record"] / noise, stated.zero_out, reach)
    yield within(stage, "replaced record", most["replaced record"] / noise, stated.replace_one, reach)
    yield within(stage, "noise multiplier", most["null record"] / noise, stated.zero_out, reach, least=0.9)
    yield within(stage, "clipping", moved[0, 3, 4, 5]["null record"] / noise, stated.zero_out, reach, least=0.0)
    beside = distance(bench, at, replaced(bench.data, 0, *extremes(bench, 0)[1]), Changes({at: np.array([3, 4, 5])}))
    yield Finding(stage.name, "record not drawn", 0.0, beside, beside == 0.0)


def in_batch(bench: Bench, at: At, batch: tuple[int, ...]) -> dict[str, float]:
    """How far the first record moves a release of this batch, whatever it is: made null, and replaced by another."""
    changes, place = Changes({at: np.array(batch)}), batch[0]
    nulled = bench.again(at, bench.data.without(place), changes).release
    releases = [bench.again(at, replaced(bench.data, place, *other), changes).release for other in extremes(bench, place)]
    releases.append(bench.again(at, changes=changes).release)
    return {
        "null record": max(float(np.linalg.norm(one - nulled)) for one in releases),
        "replaced record": max(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(releases, 2)),
    }


def noisy_sum(bench: Bench, stage: Stage, at: At, noise_multiplier: float) -> Iterator[Finding]:
    """One step: its noise over the most that any record adds, and that no other record does; at the first, what it is divided by."""
    empty = bench.again(at, changes=Changes({at: np.arange(0)}))
    if not empty.release.size:
        yield Finding(stage.name, "noise", "a release", "none", False)
        return
    large = bench.again(
        at, changes=Changes({at: np.arange(0)}, scale=growth(bench))
    )  # a threshold, and noise with it, may follow the weights
    unit, straight = noise_of(large)
    kinds = sorted({drawn.kind for drawn in large.normals})
    yield Finding(stage.name, "noise", "in integers, on a grid", f"{kinds}", kinds == ["floored_normal"])
    yield p_value(stage, "noise", straight, "standard normals, one a coordinate")
    lengths = contributions(bench, at, large.release)
    most, spread = max(lengths), max(lengths) / min(lengths) - 1
    yield Finding(
        stage.name, "noise multiplier", noise_multiplier, unit / most, math.isclose(unit / most, noise_multiplier, rel_tol=SINGLE)
    )
    yield Finding(stage.name, "clipping", "large gradients to one length", f"{spread:.1e} apart", spread < SINGLE)
    if at[1] == 1:
        yield from small_gradients(bench, stage, at, noise_of(empty)[0] / noise_multiplier)
        yield from replaced_in_sum(bench, stage, at, most, unit)
        yield from divisor(bench, stage, most)


# One gradient of a Poisson batch, clipped whole


def clips_whole(bench: Bench, stage: Stage) -> bool:
    """Whether the stage's steps clip one gradient of their batch."""
    parts = [part for _, part in bench.method.config if isinstance(part, DPSGD) and part.noise_multiplier is not None]  # None: not run
    steps = [part.private_steps(stage.name, bench.plan.facts.num_records) for part in parts]
    return any(step.clipped == "batch" and step.event == stage.event for step in steps)


def visible_gradient(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """The same where the release shows how many records were drawn, null ones included."""
    event: Any = stage.event
    rate = event.sampling_probability
    yield from batches(bench, stage, "poisson_batch", rate, lambda member, _orders: statistics.poisson_p_values(member, rate))
    yield Finding(stage.name, "relation", "a null record alone", " ".join(stage.relations), stage.relations == ("REPLACE_SPECIAL",))
    for at in ends(bench, stage.name):
        yield from noisy_gradient(bench, stage, at, event.noise_multiplier)


def noisy_gradient(bench: Bench, stage: Stage, at: At, noise_multiplier: float) -> Iterator[Finding]:
    """One step: whatever its batch, it releases noise and a vector of one length C, half of what the noise is stated for.

    A null record leaves a batch as it is without the record, unless the size of the batch is counted as visible.
    """
    one, three = np.array([0]), np.array([0, 1, 2])
    nobody = bench.data.without(np.arange(len(bench.data)))
    noises = {len(batch): bench.again(at, nobody, Changes({at: batch})) for batch in (np.arange(0), one, three)}
    unit, straight = noise_of(noises[0])
    yield Finding(stage.name, "noise", "in integers, on a grid", "", {drawn.kind for drawn in noises[0].normals} == {"floored_normal"})
    yield p_value(stage, "noise", straight, "standard normals, one a coordinate")
    lengths = [
        float(np.linalg.norm(bench.again(at, data, Changes({at: batch})).release - noises[len(batch)].release))
        for batch in (one, three)
        for data in other_records(bench)
    ]
    most, spread = max(lengths), max(lengths) / min(lengths) - 1
    measured = unit / (2 * most)
    yield Finding(stage.name, "noise multiplier", noise_multiplier, measured, math.isclose(measured, noise_multiplier, rel_tol=SINGLE))
    yield Finding(stage.name, "clipping", "large gradients to one length", f"{spread:.1e} apart", spread < SINGLE)
    stated, (_, black, white) = stage.distances, other_records(bench)
    assert stated is not None
    for batch in (one, three):
        changes = Changes({at: batch})
        nulled = bench.again(at, bench.data.without(0), changes).release
        moved = float(np.linalg.norm(nulled - bench.again(at, changes=changes).release))
        yield within(stage, "null record", moved / unit, stated.zero_out, SINGLE)
        moved = float(np.linalg.norm(bench.again(at, black, changes).release - bench.again(at, white, changes).release))
        yield within(stage, "replaced record", moved / unit, stated.zero_out, SINGLE)
        if "ADD_OR_REMOVE_ONE" in stage.relations:
            apart = float(np.linalg.norm(nulled - bench.again(at, changes=Changes({at: batch[1:]})).release))
            yield Finding(stage.name, "null record", "as if it had not been drawn", apart, apart == 0.0)
    moved = distance(bench, at, white, Changes({at: np.array([1, 2, 3])}))
    yield Finding(stage.name, "record not drawn", 0.0, moved, moved == 0.0)


def noise_of(window: Window) -> tuple[float, float]:
    """The deviation of the noise of a release that holds nothing else, and the p-value of its being normal, one a coordinate."""
    release = window.release
    drawn = np.concatenate([np.zeros(0), *(d.values.astype(np.float64).ravel() for d in window.hiding)])
    if drawn.size != release.size or not drawn.any():
        return float(np.sqrt((release**2).mean())), 0.0
    unit = float(release @ drawn / (drawn @ drawn))
    straight = bool(np.linalg.norm(release - unit * drawn) <= 1e-5 * np.linalg.norm(release))
    return abs(unit), statistics.normal_p_value(drawn) if straight else 0.0


def contributions(bench: Bench, at: At, empty: Floats) -> list[float]:
    """How far a record moves the release when its gradient is large: alone, as another record, and in the company of others.

    It joins before the others, which keep their draws if these go by their places in the dataset; the length is the same if the sum is
    clipped record by record and divided by a constant.
    """
    alone = [bench.again(at, data, Changes({at: np.array([0])}, scale=growth(bench))).release - empty for data in other_records(bench)]
    company = [bench.again(at, changes=Changes({at: np.array(batch)}, scale=growth(bench))).release for batch in ([3, 4, 5], [0, 3, 4, 5])]
    return [float(np.linalg.norm(moved)) for moved in (*alone, company[1] - company[0])]


def other_records(bench: Bench) -> list[Any]:
    """The data, and the data with another first record, black and white."""
    return [bench.data, *(replaced(bench.data, 0, record, label) for record, label in extremes(bench, 0)[:2])]


def small_gradients(bench: Bench, stage: Stage, at: At, most: float) -> Iterator[Finding]:
    """With the weights as they are, a record adds no more."""
    moved = [bench.again(at, changes=Changes({at: np.array(batch)})).release for batch in ([3], [0, 3])]
    norm = float(np.linalg.norm(moved[1] - moved[0]))
    yield Finding(stage.name, "clipping", f"at most {most:.4g}", norm, 0 < norm <= most * (1 + SINGLE))


def replaced_in_sum(bench: Bench, stage: Stage, at: At, most: float, unit: float) -> Iterator[Finding]:
    """A record that adds nothing, or that is replaced, moves the release as far as stated; not at all where it is not drawn."""
    stated = stage.distances
    assert stated is not None
    yield Finding(stage.name, "null record", stated.zero_out, most / unit, math.isclose(most / unit, stated.zero_out, rel_tol=SINGLE))
    black, white = other_records(bench)[1:]
    changes = Changes({at: np.array([0, 1, 2])}, scale=growth(bench))
    nulled = distance(bench, at, bench.data.without(0), changes)
    yield Finding(stage.name, "null record", stated.zero_out, nulled / unit, math.isclose(nulled / unit, stated.zero_out, rel_tol=SINGLE))
    moved = float(np.linalg.norm(bench.again(at, black, changes).release - bench.again(at, white, changes).release))
    yield within(stage, "replaced record", moved / unit, stated.replace_one, SINGLE, least=0.0)
    moved = distance(bench, at, white, Changes({at: np.array([1, 2, 3])}))
    yield Finding(stage.name, "record not drawn", 0.0, moved, moved == 0.0)


def distance(bench: Bench, at: At, data: Any, changes: Changes) -> float:
    """How far the release moves from the data to `data`."""
    return float(np.linalg.norm(bench.again(at, data, changes).release - bench.again(at, changes=changes).release))


def divisor(bench: Bench, stage: Stage, most: float) -> Iterator[Finding]:
    """What the sum is divided by, where the configuration names the clipping norm: the expected batch size."""
    event: Any = stage.event
    expected = event.sampling_probability * bench.plan.facts.num_records
    parts = [part for _, part in bench.method.config if isinstance(part, DPSGD) and part.batch_size == expected]
    norms = [part.max_grad_norm for part in parts if not hasattr(part, "threshold")]
    for norm in norms:
        yield Finding(stage.name, "divisor", expected, norm / most, math.isclose(norm / most, expected, rel_tol=SINGLE))


def extremes(bench: Bench, position: int) -> list[tuple[np.ndarray, int | None]]:
    """Records far from the one at `position`, with another label where there are labels."""
    record, records = bench.data.records[position], bench.data.records
    low, high = records.min(axis=0), records.max(axis=0)
    if bench.plan.facts.kind.name == "image":
        low, high = np.zeros_like(record), np.full_like(record, 255)
    classes = bench.plan.facts.num_classes
    label = None if bench.data.labels is None else (int(bench.data.labels[position]) + 1) % classes
    return [(low, label), (high, label), (low + high - record, None), (low + high - record, label)]


# One release of all records


def whole_release(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """Noise, and how far one record that is replaced or made null moves the release, in its deviations; in the first and the last step.

    Numbers of the state that noise does not reach may not move at all.
    """
    if bench.window((stage.name, 1)).of(Updated):
        yield from clipped_mean(bench, stage)
        return
    nobody = bench.data.without(np.arange(len(bench.data)))  # the noise alone, also where a key decides what records are summed to
    for at in ends(bench, stage.name):
        window = bench.window(at)
        keys = min(500, max(8, (1000 if stage.name in bench.known else 8000) // window.release.size))
        releases = np.stack([bench.again(at, nobody, Changes(key=key)).release for key in range(1, keys + 1)])
        noisy = (releases != releases[0]).any(0)
        noise, reach = statistics.deviation(releases[:, noisy])
        yield p_value(stage, "noise", statistics.coordinates_p_value(releases[:, noisy]), "of its own in every coordinate")
        on_grid = all(drawn.kind == "floored_normal" for drawn in window.normals)
        yield Finding(stage.name, "noise", "in integers, on a grid", "" if on_grid else "floats", on_grid)
        moved = moved_by_part if reads_quiet_parts(bench, at) else moved_release
        yield from moved(bench, stage, at, noisy, noise, reach)


def moved_by_part(bench: Bench, stage: Stage, at: At, noisy: np.ndarray, noise: float, reach: float) -> Iterator[Finding]:
    """What one record decides of quiet parts is made another: only the coordinates that are `noisy` may move, and as far as stated."""
    stated, apart = stage.distances, list(moved_by_parts(bench, at))
    assert stated is not None
    most = max(float(np.linalg.norm(moved[noisy])) for moved in apart) / noise
    beside = max(float(np.linalg.norm(moved[~noisy])) for moved in apart)
    yield within(stage, "replaced record", most, stated.replace_one, reach + SINGLE)
    yield within(stage, "null record", most, stated.zero_out, reach + SINGLE)
    yield Finding(stage.name, "without noise", 0.0, beside, beside == 0.0)


def clipped_mean(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """The last gradient of a batch that one record may turn round: its noise, and that no record moves it further than stated."""
    stated, at, large = stage.distances, ends(bench, stage.name)[-1], Changes(scale=growth(bench))
    assert stated is not None
    unit, straight = noise_of(bench.again(at, bench.data.without(np.arange(len(bench.data))), large))
    yield p_value(stage, "noise", straight, "standard normals, one a coordinate")
    for quantity, most, data in (
        ("null record", stated.zero_out, bench.data.without(0)),
        ("replaced record", stated.replace_one, replaced(bench.data, 0, *extremes(bench, 0)[1])),
        ("replaced record", stated.replace_one, other_data(bench.data)),
    ):
        yield within(stage, quantity, distance(bench, at, data, large) / unit, most, SINGLE, least=-1.0)


def moved_release(bench: Bench, stage: Stage, at: At, noisy: np.ndarray, noise: float, reach: float) -> Iterator[Finding]:
    """One record after another is replaced and made null; only the coordinates that are `noisy` may move, and as far as stated."""
    stated, before = stage.distances, bench.again(at).release
    assert stated is not None
    replaced_by, nulled, beside = 0.0, 0.0, 0.0
    for position in (0, 1, len(bench.data) // 2, len(bench.data) - 1):
        moved = bench.again(at, bench.data.without(position)).release - before
        nulled, beside = max(nulled, float(np.linalg.norm(moved[noisy]))), max(beside, float(np.linalg.norm(moved[~noisy])))
        for record, label in extremes(bench, position):
            moved = bench.again(at, replaced(bench.data, position, record, label)).release - before
            replaced_by, beside = max(replaced_by, float(np.linalg.norm(moved[noisy]))), max(beside, float(np.linalg.norm(moved[~noisy])))
    yield within(stage, "replaced record", replaced_by / noise, stated.replace_one, reach + SINGLE)
    yield within(stage, "null record", nulled / noise, stated.zero_out, reach + SINGLE)
    yield Finding(stage.name, "without noise", 0.0, beside, beside == 0.0)


def within(stage: Stage, quantity: str, measured: float, most: float, reach: float, least: float = 0.1) -> Finding:
    """A distance in deviations that must not be above the stated one, nor below a share `least` of it, as if nothing had moved."""
    return Finding(stage.name, quantity, f"at most {most:.4g} deviations", measured, least * most < measured <= most * (1 + reach))


def together(bench: Bench, stages: list[Stage]) -> Iterator[Finding]:
    """Releases that are parts of one: a record that is replaced moves all of them together no further than stated."""
    parts = [stage for stage in stages if isinstance(stage.event, own.PartOfGaussianDpEvent)]
    squares = np.zeros(0)
    for stage in parts:
        at = (stage.name, 1)
        releases = np.stack([bench.again(at, changes=Changes(key=key)).release for key in range(1, 9)])
        noisy, before = (releases != releases[0]).any(0), bench.again(at).release
        others = [replaced(bench.data, place, *extreme) for place in (0, 1) for extreme in extremes(bench, place)]
        moved = [np.linalg.norm((bench.again(at, data).release - before)[noisy]) for data in others]
        squares = np.square(moved) / statistics.deviation(releases[:, noisy])[0] ** 2 + (squares if squares.size else 0.0)
    if parts:
        event: Any = parts[0].event
        yield within(parts[0], "replaced record, all parts", math.sqrt(squares.max()), 1 / event.joint_noise_multiplier, 0.2)


# A choice by the exponential mechanism


def weighted_choice(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """Choices of a step, and how far a record that is replaced or made null spreads their log-weights: the range of the privacy loss.

    Choices that do not wait for each other are one among all their combinations, whose range is the sum of theirs. What the step wrote
    follows from them alone: with the same ones, no other record changes it.
    """
    event: Any = stage.event
    for at in ends(bench, stage.name):
        before = bench.again(at).of(Chosen)
        yield Finding(stage.name, "choice", "at least one a step", f"{len(before)} of a step", bool(before))
        if before:
            yield from spread_weights(bench, stage, at, before, event.epsilon, event.epsilon * event.zero_out_ratio)


def spread_weights(bench: Bench, stage: Stage, at: At, before: list[Chosen], replaced_range: float, null_range: float) -> Iterator[Finding]:
    """The largest range over some records, against that of the event; at least a tenth of it, or nothing was looked at."""
    kept = Changes(choices={at: tuple(choice.place for choice in before)})
    wrote = bench.again(at, changes=kept).release
    ranges: dict[str, float] = {"replaced record": 0.0, "null record": 0.0}
    beside = 0.0
    for position in (0, 1, len(bench.data) // 2, len(bench.data) - 1):
        others = [("null record", bench.data.without(position))]
        others += [("replaced record", replaced(bench.data, position, *extreme)) for extreme in extremes(bench, position)]
        for quantity, data in others:
            window = bench.again(at, data, kept)
            moved = [now.log_weights - then.log_weights for now, then in zip(window.of(Chosen), before, strict=True)]
            ranges[quantity] = max(ranges[quantity], sum(float(np.ptp(np.append(one, 0.0))) for one in moved))
            beside = max(beside, float(np.linalg.norm(window.release - wrote)))
    yield within(stage, "replaced record", ranges["replaced record"], replaced_range, SINGLE)
    yield within(stage, "null record", ranges["null record"], null_range, SINGLE)
    yield Finding(stage.name, "beside the choice", 0.0, beside, beside == 0.0)


# Counts with discrete Laplace noise


def laplace_counts(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """Counts in integers, each with noise of its own of the stated law, that one record's part of quiet parts moves by 1 at most."""
    composed: Any = stage.event
    event = composed.event
    for at in ends(bench, stage.name):
        releases = np.stack([bench.again(at, changes=Changes(key=key)).release for key in range(1, 101)])
        noisy = (releases != releases[0]).any(0)
        yield Finding(stage.name, "noise", f"{composed.count} counts", int(noisy.sum()), int(noisy.sum()) == composed.count)
        kinds = sorted({drawn.kind for drawn in bench.window(at).of(Drawn) if drawn.kind != "integers"})
        yield Finding(stage.name, "noise", "in integers", f"{kinds}", kinds == ["discrete_laplace"])
        yield p_value(stage, "noise", statistics.coordinates_p_value(releases[:, noisy]), "of its own in every coordinate")
        noise, reach = statistics.deviation(releases[:, noisy])
        least = math.sqrt(2.0 * math.exp(-event.noise_parameter)) / -math.expm1(-event.noise_parameter)
        yield Finding(stage.name, "noise", f"a deviation of {least:.4g}", noise, abs(noise / least - 1.0) < 3.0 * reach)
        moved = list(moved_by_parts(bench, at))
        for quantity in MOVED:
            most = max(float(np.abs(one[noisy]).max()) for one in moved)
            yield within(stage, quantity, most, event.sensitivity, 0.0)
        beside = max(float(np.linalg.norm(one[~noisy])) for one in moved)
        yield Finding(stage.name, "without noise", 0.0, beside, beside == 0.0)


# A fixed-size batch of noised records


def noised_records(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """Everything a step does with its records goes through the records under noise of the stated multiplier, and nothing else.

    Images of values in [-1, 1] are up to 2 sqrt(dimensions) apart. If noise sigma = noise_multiplier hides that distance, then moving
    the standard normals of a record by (x - x') / (sigma 2 sqrt(dimensions)) makes up for x' in place of x: the step is the same.
    The length of that shift is the record's distance in deviations. For the null record, whose image is zero, it is half of the full one.
    """
    event: Any = stage.event
    size = event.batch_size
    yield from batches(
        bench, stage, "fixed_size_batch", size / event.num_records, lambda m, orders: statistics.fixed_size_p_values(m, size, orders)
    )
    yield Finding(
        stage.name, "sampling rate", event.num_records, bench.plan.facts.num_records, event.num_records == bench.plan.facts.num_records
    )
    for at in ends(bench, stage.name):
        window = bench.window(at)
        noise = [drawn for drawn in window.normals if drawn.values.size == size * bench.plan.facts.dimensions]
        sampled = window.of(Sampled)
        yield Finding(stage.name, "noise", "a normal a value of the batch", f"{len(noise)} such draws", len(noise) == 1 == len(sampled))
        if len(noise) == 1 == len(sampled):
            yield p_value(stage, "noise", statistics.normal_p_value(noise[0].values.astype(np.float64)), "standard normals")
            yield from made_up_for(bench, stage, at, sampled[0].indices, noise[0])


def made_up_for(bench: Bench, stage: Stage, at: At, batch: np.ndarray, noise: Drawn) -> Iterator[Finding]:
    """A record's replacement is made up for by the stated shift of its noise; labels and records not drawn do nothing."""
    event: Any = stage.event
    stated = stage.distances
    assert stated is not None
    for place in (0, len(batch) - 1) if at[1] == 1 else (1,):
        position = int(batch[place])
        white = replaced(bench.data, position, np.full_like(bench.data.records[position], 255))
        before = bench.again(at, white, Changes({at: batch}))
        black = replaced(bench.data, position, np.full_like(bench.data.records[position], 0))
        for quantity, other, apart_by, most in (
            ("replaced record", black, 2.0, stated.replace_one),
            ("null record", bench.data.without(position), 1.0, stated.zero_out),
        ):
            shift = np.zeros((len(batch), bench.plan.facts.dimensions))
            shift[place] = apart_by / (event.noise_multiplier * 2.0 * math.sqrt(bench.plan.facts.dimensions))
            after, made_up = (bench.again(at, other, Changes({at: batch}, shifts)) for shifts in ({}, {noise.key: shift}))
            moved, left = (float(np.linalg.norm(window.release - before.release)) for window in (after, made_up))
            yield Finding(
                stage.name, "noise multiplier", event.noise_multiplier, f"{left / moved:.1e} left of the change", left < 0.01 * moved
            )
            losses = [window.end.values.get("loss", 0.0) for window in (made_up, before)]
            yield Finding(stage.name, "noise multiplier", "the same loss", "{} for {}".format(*losses), math.isclose(*losses, rel_tol=1e-3))
            yield within(stage, quantity, float(np.linalg.norm(shift)), most, SINGLE)
    yield from not_used(bench, stage, at, batch)


def not_used(bench: Bench, stage: Stage, at: At, batch: np.ndarray) -> Iterator[Finding]:
    """Labels, and records that were not drawn, change nothing."""
    changes, record, label = Changes({at: batch}), bench.data.records[batch[0]], None
    if bench.data.labels is not None:
        label = (int(bench.data.labels[batch[0]]) + 1) % bench.plan.facts.num_classes
    moved = distance(bench, at, replaced(bench.data, int(batch[0]), record, label), changes)
    yield Finding(stage.name, "label", 0.0, moved, moved == 0.0)
    outside = next(position for position in range(len(bench.data)) if position not in batch)
    moved = distance(bench, at, replaced(bench.data, outside, 255 - bench.data.records[outside], label), changes)
    yield Finding(stage.name, "record not drawn", 0.0, moved, moved == 0.0)


# The noisy output of one part of the records, drawn among all


def drawn_part(bench: Bench, stage: Stage) -> Iterator[Finding]:
    """One part a step, drawn evenly; noise, and how far apart what any two parts give is; no part that was not drawn counts.

    What each part gives is made by a network of its own, an entry of the one quiet module, which learned in steps before: here it may be
    any network at all. Of one whose weights are zero the release is noise alone; of two that are large it is clipped vectors.
    """
    event: Any = stage.event
    number = event.num_parts
    if stage.name not in bench.known:
        yield from batches(
            bench, stage, "fixed_size_batch", 1 / number, lambda m, orders: statistics.fixed_size_p_values(m, 1, orders), total=number
        )
    for at in ends(bench, stage.name):
        own, other = np.array([0]), np.array([number - 1])
        keys = min(500, max(8, 4000 // part_release(bench, at, 0.0, own).size))
        releases = np.stack([part_release(bench, at, 0.0, own, key=key) for key in range(1, keys + 1)])
        noise, reach = statistics.deviation(releases)
        yield p_value(stage, "noise", statistics.coordinates_p_value(releases), "of its own in every coordinate")
        kinds = sorted({drawn.kind for drawn in bench.window(at).normals})
        yield Finding(stage.name, "noise", "in integers, on a grid", f"{kinds}", kinds == ["floored_normal"])
        nothing, large = (part_release(bench, at, weights, own) for weights in (0.0, GROWN))
        turned = part_release(bench, at, GROWN, own, sign=-1.0)
        apart_by, alone = np.linalg.norm(large - turned), np.linalg.norm(large - nothing)
        stated = stage.distances
        assert stated is not None
        yield within(stage, "replaced record", float(apart_by) / noise, stated.replace_one, reach + SINGLE, least=0.9)
        yield within(stage, "null record", float(alone) / noise, stated.zero_out, reach + SINGLE, least=0.3)
        least, most = (float(np.linalg.norm(part_release(bench, at, weights, own) - nothing)) for weights in (GROWN, 10 * GROWN))
        yield Finding(
            stage.name, "clipping", "large gradients to one length", f"{most / least - 1:.1e} apart", abs(most / least - 1) < SINGLE
        )
        yield from not_drawn(bench, stage, at, own, other)


GROWN = 3.0  # deviation of the weights of a network whose gradients are longer than the clipping norm


def part_release(bench: Bench, at: At, deviation: float, drawn: np.ndarray, sign: float = 1.0, key: int = 0, beside: float = 0.0) -> Floats:
    """What a step releases where one part is drawn whose network has weights of a deviation, and the others have others, `beside`.

    A `sign` of -1 turns all scores round: the critics' last layers are linear.
    """

    def alter(state: State) -> None:
        (name,) = bench.method.quiet_parts
        for part, network in enumerate(state.modules[name].children()):
            draw = torch.Generator().manual_seed(part)
            for place, parameter in network.named_parameters():
                parameter.data = torch.randn(parameter.shape, generator=draw) * (deviation if part == drawn[0] else beside)
                if place.split(".")[0] in ("score", "projection"):
                    parameter.data *= sign
        for group in state.optimizers[name].param_groups:
            group["lr"] = 0.0

    window = bench.again(at, changes=Changes({at: drawn}, key=key, alter=alter))
    (released,) = window.of(Released)
    return released.values.ravel()


def not_drawn(bench: Bench, stage: Stage, at: At, own: np.ndarray, other: np.ndarray) -> Iterator[Finding]:
    """Networks of parts that were not drawn, and their records, change nothing; another part's does."""
    before = part_release(bench, at, GROWN, own)
    moved = float(np.linalg.norm(part_release(bench, at, GROWN, own, beside=1.0) - before))
    yield Finding(stage.name, "part not drawn", 0.0, moved, moved == 0.0)
    lengths = [float(np.linalg.norm(part_release(bench, at, GROWN, part) - part_release(bench, at, 0.0, part))) for part in (own, other)]
    alike = lengths[0] > 0.0 and math.isclose(*lengths, rel_tol=SINGLE)
    yield Finding(stage.name, "part drawn", "gives the release, whichever it is", "of lengths {} and {}".format(*lengths), alike)
    parts = Parts.of(bench.state, stage.event.num_parts, len(bench.data))  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
    data = other_data(bench.data)
    mine = parts.positions(int(own[0]))
    records, labels = data.records.copy(), None if data.labels is None else data.labels.copy()
    records[mine] = bench.data.records[mine]
    if labels is not None and bench.data.labels is not None:
        labels[mine] = bench.data.labels[mine]
    releases = [
        bench.again(at, given, Changes({at: own})).of(Released)[0].values
        for given in (replace(data, records=records, labels=labels), bench.data)
    ]
    moved = float(np.linalg.norm(releases[0] - releases[1]))
    yield Finding(stage.name, "record not drawn", 0.0, moved, moved == 0.0)


CHECKS: dict[type[dp_event.DpEvent], Callable[[Bench, Stage], Iterator[Finding]]] = {
    dp_event.PoissonSampledDpEvent: poisson_sum,
    own.RealisedBatchSizeDpEvent: visible_gradient,
    dp_event.GaussianDpEvent: whole_release,
    dp_event.SelfComposedDpEvent: laplace_counts,
    own.ReplaceOneGaussianDpEvent: whole_release,
    own.PartOfGaussianDpEvent: whole_release,
    own.FixedBatchGaussianDpEvent: noised_records,
    own.ExponentialMechanismDpEvent: weighted_choice,
    own.DrawnPartGaussianDpEvent: drawn_part,
}
