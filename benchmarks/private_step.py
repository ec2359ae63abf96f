"""What a private step costs: time and peak memory of every variant, in one run, alternating, medians of paired rounds.

`python -m benchmarks.private_step` prints a table and writes `benchmarks/results.json` and `.md`. Times come from one process per
network and noise multiplicity in which the variants take turns; memory from a process per variant: the high-water mark of
resident memory over what was resident before the network was made, first after a gradient alone and then after two whole
steps. Allocator thresholds are raised for all alike. Below the table stand the limits and whether they were kept.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.limits import limit_row, print_limits
from benchmarks.results import renew

RESULTS = Path(__file__).with_name("results.json")
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(2**32), "MALLOC_TRIM_THRESHOLD_": str(2**36)}
NETWORKS = {"1.6M": (32, 256), "6.5M": (64, 128)}  # base channels, images in a step
MICROBATCH_SIZE = 128  # rows of the private variants' microbatches, and half the batch at K = 1, where memory is scarce
BASELINE, OURS, HOOKS = "not private", "ours", "opacus hooks"
PARTS = ("gradient part", "whole step")
TIME_LIMITS = {1: 1.35, 8: 1.15, 32: 1.15}  # seconds of ours over not private, whole step, by noise multiplicity
MEMORY_LIMITS = dict.fromkeys(TIME_LIMITS, 1.35)  # peak memory of ours over not private
HOOKS_LIMIT = 0.6  # seconds of ours over Opacus's hooks, at any noise multiplicity


def arguments() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--noise-multiplicities", nargs="+", type=int, default=[1, 4, 8, 32])
    parser.add_argument("--variants", nargs="+", default=None, help="all by default")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser


def main(options: argparse.Namespace) -> None:
    """Measure, print and write, a network and noise multiplicity after another."""
    limits: list[dict[str, Any]] = []
    print_head()
    for network in options.networks:
        for noise_multiplicity in options.noise_multiplicities:
            rows = cell(network, noise_multiplicity, options)
            limits += limits_of(network, rows)
            renew(options.out, rows, limits_of(network, rows), machine(options))
    print_limits("private step, whole, medians", limits)
    print(f"Written to {options.out}")


def cell(network: str, noise_multiplicity: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """All rows of one network at one noise multiplicity, printed too."""
    base_channels, images = NETWORKS[network]
    setting = {"base_channels": base_channels, "images": images, "noise_multiplicity": noise_multiplicity, "threads": options.threads}
    times = in_process({**setting, "variants": options.variants, "rounds": options.rounds})
    peaks = {name: in_process({**setting, "variants": [name], "rounds": 0})["peak_bytes"] for name in times["seconds"]}
    rows = list(as_rows(times, peaks, setting))
    print_rows(network, rows)
    return rows


def limits_of(network: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the whole step of ours may take at most, and whether it did; what was not measured or has no limit is left out."""
    ours = next((row for row in rows if row["variant"] == OURS and row["benchmark"].endswith(PARTS[1])), None)
    if ours is None:
        return []
    noise_multiplicity = ours["noise_multiplicity"]
    measured = (
        ("seconds, ours over not private", ours["ratio_to_not_private"], TIME_LIMITS.get(noise_multiplicity)),
        ("seconds, ours over Opacus's hooks", ours["ratio_to_opacus_hooks"], HOOKS_LIMIT),
        ("peak memory, ours over not private", ours["peak_to_not_private"], MEMORY_LIMITS.get(noise_multiplicity)),
    )
    where = f"private step: {network} U-Net, K = {noise_multiplicity}"
    known = [(name, value, limit) for name, value, limit in measured if value is not None and limit is not None]
    return [limit_row(where, name, [value], limit) | {"rounds": ours["rounds"]} for name, value, limit in known]


def in_process(request: dict[str, Any]) -> dict[str, Any]:
    """`measure(request)` in a process of its own with the allocator's thresholds raised."""
    command = [sys.executable, "-m", "benchmarks.private_step", "--cell", json.dumps(request)]
    threads = str(request["threads"])
    environment = {**os.environ, **ALLOCATOR, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """`seconds` of each round by variant, or `peak_bytes` of one variant where `rounds` is 0: pairs (gradient part, whole step)."""
    import torch

    from benchmarks.variants import VARIANTS

    torch.set_num_threads(request["threads"])
    before = resident()
    setting = (request["images"], request["noise_multiplicity"])
    shape = (request["base_channels"], *setting, microbatch_size(*setting))
    names = request["variants"] or list(VARIANTS)
    if not request["rounds"]:
        (name,) = names
        return {"peak_bytes": [peak - before for peak in peaks_of(VARIANTS[name](*shape))]}
    variants = {name: VARIANTS[name](*shape) for name in dict.fromkeys([BASELINE, *names])}
    return {
        "seconds": rounds_of(variants, request["rounds"]),
        "parameters": sum(parameter.numel() for parameter in variants[BASELINE].network.parameters()),
        "notes": {name: variant.note for name, variant in variants.items()},
    }


def microbatch_size(images: int, noise_multiplicity: int) -> int:
    """Rows that the private variants run at once, all of them alike."""
    return min(MICROBATCH_SIZE, images // 2) if noise_multiplicity == 1 else MICROBATCH_SIZE


def rounds_of(variants: dict[str, Any], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds of the variants' steps, taken in turns, every second round in reverse order; a step each before to warm up."""
    timings: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for variant in variants.values():
        step_seconds(variant)
    for round_number in range(rounds):
        for name in list(variants) if round_number % 2 == 0 else reversed(variants):
            timings[name].append(step_seconds(variants[name]))
    return timings


def peaks_of(variant: Any) -> tuple[int, int]:
    """Most bytes resident after the gradient part of a first step, which keeps no optimiser's state yet, and after two steps."""
    gradient_part = high_water(variant.gradient)
    variant.finish()
    return gradient_part, high_water(lambda: step_seconds(variant))


def high_water(action: Callable[[], object]) -> int:
    """The most bytes that this process has had resident once `action` has run; `ru_maxrss` would inherit a parent's."""
    action()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def step_seconds(variant: Any) -> tuple[float, float]:
    """Seconds of the gradient part and of the whole of one step."""
    began = time.perf_counter()
    variant.gradient()
    halfway = time.perf_counter()
    variant.finish()
    return halfway - began, time.perf_counter() - began


def resident() -> int:
    """Bytes resident now."""
    import psutil

    return psutil.Process().memory_info().rss


def as_rows(times: dict[str, Any], peaks: dict[str, Sequence[int]], setting: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per variant and part, with the median ratios to other variants' steps of the same rounds."""
    images, noise_multiplicity = setting["images"], setting["noise_multiplicity"]
    for index, part in enumerate(PARTS):
        seconds = {name: [pair[index] for pair in rounds] for name, rounds in times["seconds"].items()}
        for name, mine in seconds.items():
            to_baseline = ratios(mine, seconds[BASELINE])
            yield {
                "benchmark": f"private step: {part}",
                "variant": name,
                "noise_multiplicity": noise_multiplicity,
                "parameters": times["parameters"],
                "records": images // noise_multiplicity,
                "microbatch_size": microbatch_size(images, noise_multiplicity),
                "seconds_per_image": statistics.median(mine) / images,
                "peak_bytes": peaks[name][index],
                "ratio_to_not_private": statistics.median(to_baseline),
                "ratio_range": [min(to_baseline), max(to_baseline)],
                "ratio_to_opacus_hooks": statistics.median(ratios(mine, seconds[HOOKS])) if HOOKS in seconds else None,
                "peak_to_not_private": peaks[name][index] / peaks[BASELINE][index],
                "rounds": len(mine),
                "note": times["notes"][name] if noise_multiplicity > 1 else "",
            }


def ratios(mine: Sequence[float], others: Sequence[float]) -> list[float]:
    """Mine over the other's, round by round."""
    return [a / b for a, b in zip(mine, others, strict=True)]


def print_head() -> None:
    """The head of the table; the ratios are to the step that is not private."""
    print(f"\n{'':44}" + "".join(f"{part:>44}" for part in PARTS))
    print(f"{'network':10}{'K':>4}  {'variant':28}" + f"{'ms/image':>14}{'ratio':>10}{'MiB':>12}{'ratio':>8}" * len(PARTS), flush=True)


def print_rows(network: str, rows: Sequence[dict[str, Any]]) -> None:
    """One line a variant."""
    half = len(rows) // 2
    for pair in zip(rows[:half], rows[half:], strict=True):
        figures = "".join(
            f"{1e3 * row['seconds_per_image']:14.2f}{row['ratio_to_not_private']:10.3f}"
            f"{row['peak_bytes'] / 2**20:12.0f}{row['peak_to_not_private']:8.2f}"
            for row in pair
        )
        note = f"  ({pair[0]['note']})" if pair[0]["note"] else ""
        print(f"{network:10}{pair[0]['noise_multiplicity']:4}  {pair[0]['variant']:28}{figures}{note}", flush=True)


def machine(options: argparse.Namespace) -> dict[str, Any]:
    """What the figures were measured on."""
    import torch

    from workbench.training.checkpoints import processor

    return {
        "processor": processor(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": options.threads,
        "torch": str(torch.__version__),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What a private step costs.", parents=[arguments()])
    parser.add_argument("--cell", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(measure(json.loads(options.cell))))
    else:
        main(options)
