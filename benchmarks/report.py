"""The tables of `benchmarks/results.json` in Markdown, for people who read the repository."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

INTRODUCTION = """
## What a private step costs

Every variant takes the same step of the same U-Net on the same images, K rows a record.
Time is the median of {rounds} rounds in which the variants take turns; the ratio to the step that is not private is the
median of the rounds' own ratios, with the smallest and the largest. Memory is the most that a process with this variant
alone held, less what it held before the network was made. Machine: {processor}, {cpu_capability}, {threads} threads, torch
{torch}."""
Row = Mapping[str, Any]


def markdown(results: Mapping[str, Any]) -> str:
    """The limits and whether they were kept and when that was measured, then a table for every network and noise multiplicity."""
    parts = ["# Benchmarks\n\nMade by `make bench`; do not edit.\n", *limits(results["limits"])]
    if results["rows"]:
        rounds = max(row["rounds"] for row in results["rows"])
        parts.append(INTRODUCTION.format(rounds=rounds, **results["machine"]))
    for parameters, noise_multiplicity in dict.fromkeys((row["parameters"], row["noise_multiplicity"]) for row in results["rows"]):
        rows = [row for row in results["rows"] if (row["parameters"], row["noise_multiplicity"]) == (parameters, noise_multiplicity)]
        title = f"{parameters / 1e6:.2f} M parameters, K = {noise_multiplicity}, {rows[0]['records']} records"
        parts += [f"\n### {title}, private variants in microbatches of {rows[0]['microbatch_size']} rows\n", *variants(rows)]
    return "\n".join(parts) + "\n"


def limits(rows: Sequence[Row]) -> Iterator[str]:
    """A line for every limit."""
    yield "## Limits\n\n| benchmark | figure | measured | limit | | at commit |\n| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        verdict = "met" if row["met"] else "**missed**"
        yield f"| {row['benchmark']} | {row['variant']} | {row['value']:.3g} | {row['limit']:g} | {verdict} | {row.get('commit', '-')} |"


def variants(rows: Sequence[Row]) -> Iterator[str]:
    """A line for every variant: time, ratio and memory of the gradient part and of the whole step."""
    parts = list(dict.fromkeys(row["benchmark"] for row in rows))
    yield "| variant |" + "".join(f" {part.split(': ')[-1]}, ms an image | ratio | MiB | ratio |" for part in parts)
    yield "| --- |" + " --- | --- | --- | --- |" * len(parts)
    for variant in dict.fromkeys(row["variant"] for row in rows):
        cells = [cell(row) for row in rows if row["variant"] == variant]
        yield f"| {variant} |" + "".join(cells)
    yield from (f"\n{row['variant']}: {row['note']}." for row in rows if row["note"] and row["benchmark"] == parts[0])


def cell(row: Row) -> str:
    """Time with its ratio and range, memory with its ratio."""
    low, high = row["ratio_range"]
    time = f" {1e3 * row['seconds_per_image']:.2f} | {row['ratio_to_not_private']:.2f} ({low:.2f} to {high:.2f}) |"
    return time + f" {row['peak_bytes'] / 2**20:.0f} | {row['peak_to_not_private']:.2f} |"
