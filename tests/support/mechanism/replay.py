"""What a fit writes and says follows from its releases: on other records altogether, with the same releases, it is the same."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dp_accounting import dp_event

from support.mechanism.events import WITHOUT_MECHANISM, Window
from support.mechanism.finding import Finding
from support.mechanism.recording import Bench
from workbench.privacy.accounting.stages import Stage
from workbench.records import Records
from workbench.training.state import Step


def follows(bench: Bench, stages: list[Stage]) -> Iterator[Finding]:
    """The state when a step is spent and when it ends, and what a step says that may leave the room or is shown.

    A stage without a mechanism has no release that its state could follow from: there the state is taken over. Not so where the method
    names the parts that such stages write: these are made of the other records, and nothing else may differ for that.
    """
    kept = {stage.name for stage in stages if isinstance(stage.event, WITHOUT_MECHANISM)} - bench.quiet
    there = bench.replayed(other_data(bench.data), kept)
    for window, other in zip(bench.whole, there, strict=True):
        if window.spent is not None and other.spent is not None:
            yield same(window, "spending comes first", "no record in the state", window.spent.state == other.spent.state)
        if window.at[0] not in kept:
            quantity = "quiet" if window.at[0] in bench.quiet else "follows from releases" if window.spent else "free"
            yield same(window, quantity, "the state but for quiet parts", window.end.state == other.end.state)
        yield same(window, "private", "no private value", public_part(window.end.step) == public_part(other.end.step))
    if bench.quiet:
        moved = bench.whole[-1].end.quiet != there[-1].end.quiet
        yield Finding("all", "quiet", "quiet parts made of records", "they differ" if moved else "they are alike", moved)
    yield from unreleased(bench, {stage.name for stage in stages if isinstance(stage.event, dp_event.NoOpDpEvent)})


def same(window: Window, quantity: str, stated: str, holds: bool) -> Finding:
    """A finding on one step."""
    return Finding(window.at[0], quantity, stated, f"{'alike' if holds else 'differs'} at step {window.at[1]}", holds)


def public_part(step: Step) -> Any:
    """What of a step may be seen: its values where they are not private, and the records that are shown."""
    values = None if step.private else dict(step.values)
    return values, None if step.shown is None else step.shown.records.tobytes()


def unreleased(bench: Bench, stages: set[str]) -> Iterator[Finding]:
    """What is said to release nothing leaves everything as it was that samples are made from."""
    before = {after.at: window.end.released for window, after in zip(bench.whole, bench.whole[1:], strict=False)}
    for window in bench.whole:
        if window.at[0] in stages and window.at in before:
            yield same(window, "without release", "the released parts", window.end.released == before[window.at])


def other_data(data: Records) -> Records:
    """Other records altogether: the same ones backwards, and inside out."""
    highest = data.records.max(axis=0, keepdims=True)
    labels = None if data.labels is None else data.labels[::-1].copy()
    return replace(data, records=(highest - data.records)[::-1].copy(), labels=labels)
