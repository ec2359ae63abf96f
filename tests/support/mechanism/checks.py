"""What each kind of event says of its mechanism, held against what happened."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from dp_accounting import dp_event

from support.mechanism import statistics
from support.mechanism.events import At, Changes, Chosen, Drawn, Floats, Sampled, Updated, Window
from support.mechanism.finding import Finding, p_value
from support.mechanism.flow import apart, ends, freshness, spending, times
from support.mechanism.recording import LEAST_GROWTH, SAMPLERS, Bench, replaced
from support.mechanism.replay import follows, other_data
from workbench.errors import WorkbenchError
from workbench.privacy.accounting import events as own
from workbench.privacy.accounting.stages import Stage
from workbench.training.dp_sgd import DPSGD
from workbench.training.mixing import MIXED
from workbench.training.randomness import Randomness

FLAT = {"psg", "dp-gan", "dp-cgan"}  # whose loss is flat where weights are large; its gradients are longer than the norm as they are
SINGLE = 2e-3  # relative, of differences of releases in single precision


def growth(bench: Bench) -> float:
    """Times the weights, so that every gradient is longer than the clipping norm."""
    return 1.0 if bench.plan.method in FLAT else bench.growth


def findings(bench: Bench, only: str | None = None) -> list[Finding]:
    """Everything that the harness measures of one method; with `only`, of the flow and of the stage of that name."""
    stages = bench.method.stages(bench.plan.facts)
    found = [*spending(bench, stages), *follows(bench, stages), *freshness(bench, stages), *times(bench, stages)]
    if only is None:
        found += apart(bench)
    for stage in stages:
        if stage.spent != "free" and only in (None, stage.name):
            found += of_event(bench, stage)
    return found + list(together(bench, stages)) if only is None else found


def violations(found: list[Finding]) -> list[Finding]:
    """The findings that do not hold."""
    return [finding for finding in found if not finding.holds]


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


def batches(bench: Bench, stage: Stage, sampler: str, stated: float, p_values: Callable[..., dict[str, float]]) -> Iterator[Finding]:
    """Each step draws one batch by `sampler`; the very call that was recorded is repeated at many steps."""
    drawn = [window.of(Sampled) for window in bench.whole if window.at[0] == stage.name]
    proper = all(len(found) == 1 and found[0].sampler == sampler for found in drawn)
    kinds = sorted({found.sampler for step in drawn for found in step})
    yield Finding(stage.name, "sampling", f"one {sampler} a step", f"{[len(step) for step in drawn]} of {kinds}", proper)
    if not proper:
        return
    calls = [step[0] for step in drawn]
    num_records = bench.plan.facts.num_records
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
        if bench.window(at).of(Updated):
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
    reach, most = reach + SINGLE, {name: max(found[name] for found in moved.values()) for name in ("null record", "replaced record")}
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
    found = [bench.again(at, replaced(bench.data, place, *other), changes).release for other in extremes(bench, place)]
    found.append(bench.again(at, changes=changes).release)
    return {
        "null record": max(float(np.linalg.norm(one - nulled)) for one in found),
        "replaced record": max(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(found, 2)),
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
    found = float(np.linalg.norm(moved[1] - moved[0]))
    yield Finding(stage.name, "clipping", f"at most {most:.4g}", found, 0 < found <= most * (1 + SINGLE))


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
        yield from moved_release(bench, stage, at, noisy, noise, reach)


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


def within(stage: Stage, quantity: str, found: float, most: float, reach: float, least: float = 0.1) -> Finding:
    """A distance in deviations that must not be above the stated one, nor below a share `least` of it, as if nothing had moved."""
    return Finding(stage.name, quantity, f"at most {most:.4g} deviations", found, least * most < found <= most * (1 + reach))


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


CHECKS: dict[type[dp_event.DpEvent], Callable[[Bench, Stage], Iterator[Finding]]] = {
    dp_event.PoissonSampledDpEvent: poisson_sum,
    dp_event.GaussianDpEvent: whole_release,
    own.ReplaceOneGaussianDpEvent: whole_release,
    own.PartOfGaussianDpEvent: whole_release,
    own.FixedBatchGaussianDpEvent: noised_records,
    own.ExponentialMechanismDpEvent: weighted_choice,
}
