"""What holds of a whole fit, whatever its mechanisms: what is spent and when, what is fresh, what is untouched, which times are asked."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from support.mechanism.events import (
    OWN_DRAWS,
    WITHOUT_MECHANISM,
    At,
    Chosen,
    Drawn,
    Event,
    Opened,
    Read,
    Released,
    Sampled,
    Timed,
    Updated,
    Window,
)
from support.mechanism.finding import Finding
from support.mechanism.recording import QUICK, Bench
from workbench import experiment
from workbench.datasets import Dataset
from workbench.errors import WorkbenchError
from workbench.privacy.accounting.stages import Stage

TIMES: dict[str, Callable[[Any], dict[str, tuple[int, int]]]] = {  # diffusion time steps a stage may use, where privacy is split by them
    "dp-promise": lambda config: {
        "phase one": (config.last_private_timestep + 1, config.diffusion.timesteps),
        "phase two": (1, config.last_private_timestep),
    }
}


def spending(bench: Bench, stages: list[Stage]) -> Iterator[Finding]:
    """Every paid step is spent once, in order within its stage, before anything of it is drawn, summed or read."""
    planned = [(stage.name, step) for stage in stages if stage.spent != "free" for step in range(1, stage.steps + 1)]
    spent = [window.spent.at for window in bench.whole if window.spent is not None]
    taken = [window.at for window in bench.whole if window.at in planned]
    position = {stage.name: place for place, stage in enumerate(stages)}
    in_order = sorted(taken, key=lambda at: position[at[0]])  # stages may take turns: the order within each stays
    tally = f"{len(spent)} spent, {len(taken)} taken"
    yield Finding("all", "spending", f"{len(planned)} steps", tally, spent == taken and in_order == planned)
    for window in bench.whole:
        early = [event for event in unpaid(window) if isinstance(event, Sampled | Updated | Drawn | Chosen | Released)]
        if window.spent is not None:
            yield Finding(window.at[0], "spending comes first", "nothing before", f"{len(early)} events", not early)
        prepares = window.at[1] == 1 and bool(window.of(Updated)) and window.spent is not None  # batches of entries, not yet made
        reads = [event for event in unpaid(window) if isinstance(event, Read) and (event.made or not prepares)]
        yield Finding(window.at[0], "spending comes first", "no record read", f"{len(reads)} reads", not reads)


def unpaid(window: Window) -> list[Event]:
    """What happened in a step before it was spent; in a free step all of it."""
    return window.after if window.spent is None else window.before


def apart(bench: Bench) -> Iterator[Finding]:
    """A private record among the public ones is refused by the flow before anything is spent."""
    if bench.public is None:
        return
    records = bench.data.records.copy()
    records[-1] = bench.public.records[0]
    dataset = Dataset(bench.plan.facts, replace(bench.data, records=records), bench.data.take(slice(1)))
    spent: list[At] = []
    steps = experiment.fit(
        bench.plan, dataset, experiment.new_state(bench.plan, QUICK, seed=0, spend=lambda stage, step: spent.append((stage, step)))
    )
    try:
        next(steps)
        outcome = "one that is private was trained on"
    except WorkbenchError as error:
        outcome = str(error)
    yield Finding("all", "public records", "refused if private", outcome, "no private training records" in outcome and not spent)


def ends(bench: Bench, stage: str) -> list[At]:
    """The first and the last step of a stage."""
    taken = [window.at for window in bench.whole if window.at[0] == stage]
    if stage in bench.known:
        return taken[-1:]
    return list(dict.fromkeys([taken[0], taken[-1]]))


# Freshness


def freshness(bench: Bench, stages: list[Stage]) -> Iterator[Finding]:
    """No stream, no run of values and no batch serves two steps, two stages or two purposes."""
    paid = {stage.name for stage in stages if stage.spent != "free"}
    streams: dict[tuple[str, int, int], set[At]] = {}
    contents: dict[bytes, set[tuple[str, int, int]]] = {}
    setup = [(("initial state", 0), event) for event in bench.setup]
    for at, event in [*setup, *((window.at, event) for window in bench.whole for event in (*window.before, *window.after))]:
        if isinstance(event, Opened):
            streams.setdefault(event.key, set()).add(at)
        if isinstance(event, Drawn) and event.values.size:
            contents.setdefault(beginning(event), set()).add(event.key)
    shared = [key for key, windows in streams.items() if len(windows) > 1 and {stage for stage, _ in windows} & paid]
    yield Finding("all", "freshness", "a stream a step", f"{len(shared)} shared: {shared[:2]}", not shared)
    again = [keys for keys in contents.values() if len(keys) > 1]
    yield Finding("all", "freshness", "values of one stream", f"{len(again)} in several: {again[:2]}", not again)
    yield from drawn_once(bench, paid - {stage.name for stage in stages if isinstance(stage.event, WITHOUT_MECHANISM)})


def beginning(drawn: Drawn) -> bytes:
    """What tells one stream's values from another's: 64 bytes of them, or their kind and all of them where they are fewer.

    Two streams agree in so much by chance with probability below 1e-9 (a boundary's uniform draws have 24 bits, hence eight of them).
    """
    values = np.ascontiguousarray(drawn.values).tobytes()
    few = repr(drawn.key).encode() if drawn.values.size < (8 if drawn.kind == "integers" else 2) else b""  # a few small numbers say nothing
    return drawn.kind.encode() + values[:64] + few


def drawn_once(bench: Bench, paid: set[str]) -> Iterator[Finding]:
    """Within a step every stream is asked for once: another call would draw the same again. Trial passes may, for a record's own draws."""
    for window in bench.whole:
        if window.at[0] in paid:
            opened = [event.key for event in window.after if isinstance(event, Opened) and not event.key[0].endswith(OWN_DRAWS)]
            twice = sorted({key for key in opened if opened.count(key) > 1})
            yield Finding(window.at[0], "freshness", "noise drawn once", f"{len(twice)} streams again: {twice[:2]}", not twice)


def times(bench: Bench, stages: list[Stage]) -> Iterator[Finding]:
    """The time steps at which each stage asks the network."""
    limits = TIMES.get(bench.plan.method, lambda _config: {})(bench.method.config)
    for name in {stage.name for stage in stages} & limits.keys():
        low, high = limits[name]
        time_steps = [event.times for window in bench.whole if window.at[0] == name for event in window.of(Timed)]
        if time_steps:
            least, most = int(min(t.min() for t in time_steps if len(t))), int(max(t.max() for t in time_steps if len(t)))
            yield Finding(name, "boundary", f"time steps {low} to {high}", f"{least} to {most}", low <= least and most <= high)
        else:
            yield Finding(name, "boundary", f"time steps {low} to {high}", "none seen", False)
