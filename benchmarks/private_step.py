"""What a private step costs: time and peak memory of every variant, in one run, alternating, medians of paired rounds.

`python -m benchmarks.private_step` prints a table and writes `benchmarks/results.json`. Times come from one process per
network and noise multiplicity in which the variants take turns; memory from a process per variant: the high-water mark of
resident memory over what was resident before the network was made. Allocator thresholds are raised for all alike.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(2**32), "MALLOC_TRIM_THRESHOLD_": str(2**36)}
NETWORKS = {"1.6M": (32, 256), "6.5M": (64, 128)}  # base channels, images in a step
MICROBATCH_SIZE = 128
BASELINE = "not private"


def main(others: Callable[[], list[dict[str, Any]]] | None = None) -> None:
    """Parse the command line; measure, print and write with the rows of `others`, or (in a process of its own) measure one cell."""
    parser = argparse.ArgumentParser(description="What a private step costs.")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--noise-multiplicities", nargs="+", type=int, default=[1, 4, 8, 32])
    parser.add_argument("--variants", nargs="+", default=None, help="all by default")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--cell", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        print(json.dumps(measure(json.loads(options.cell))))
        return
    first = others() if others else []
    rows = [row for network in options.networks for k in options.noise_multiplicities for row in cell(network, k, options)]
    options.out.write_text(json.dumps({"machine": machine(options), "rows": first + rows}, indent=1) + "\n")
    print(f"Written to {options.out}")


def cell(network: str, noise_multiplicity: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """All rows of one network at one noise multiplicity, printed as they are found."""
    base_channels, images = NETWORKS[network]
    setting = {"base_channels": base_channels, "images": images, "noise_multiplicity": noise_multiplicity, "threads": options.threads}
    times = in_process({**setting, "variants": options.variants, "rounds": options.rounds})
    peaks = {name: in_process({**setting, "variants": [name], "rounds": 0})["peak_bytes"] for name in times["seconds"]}
    rows = list(as_rows(times, peaks, setting))
    print_table(f"{network} U-Net, K = {noise_multiplicity}, {images} images a step", rows)
    return rows


def in_process(request: dict[str, Any]) -> dict[str, Any]:
    """`measure(request)` in a process of its own with the allocator's thresholds raised."""
    command = [sys.executable, "-m", "benchmarks.private_step", "--cell", json.dumps(request)]
    threads = str(request["threads"])
    environment = {**os.environ, **ALLOCATOR, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Seconds of each round by variant, (gradient part, whole step) pairs; peak bytes where `rounds` is 0."""
    import torch

    from benchmarks.variants import VARIANTS

    torch.set_num_threads(request["threads"])
    names = request["variants"] or list(VARIANTS)
    before = resident()
    shape = (request["base_channels"], request["images"], request["noise_multiplicity"], MICROBATCH_SIZE)
    variants = {name: VARIANTS[name](*shape) for name in dict.fromkeys([BASELINE, *names] if request["rounds"] else names)}
    for variant in variants.values():  # warm up
        variant.gradient()
        variant.finish()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for round_number in range(request["rounds"]):
        order = list(variants) if round_number % 2 == 0 else list(reversed(variants))
        for name in order:
            found[name].append(timed(variants[name]))
    if not request["rounds"]:
        timed(next(iter(variants.values())))
    parameters = sum(p.numel() for p in next(iter(variants.values())).network.parameters())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return {"seconds": found, "peak_bytes": peak, "parameters": parameters, "notes": {name: v.note for name, v in variants.items()}}


def timed(variant: Any) -> tuple[float, float]:
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


def as_rows(times: dict[str, Any], peaks: dict[str, int], setting: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per variant and part, with the median ratio to the non-private step of the same round."""
    baseline = times["seconds"][BASELINE]
    for index, part in enumerate(("gradient part", "whole step")):
        for name, rounds in times["seconds"].items():
            seconds = [pair[index] for pair in rounds]
            ratios = [mine / pair[index] for mine, pair in zip(seconds, baseline, strict=True)]
            yield {
                "benchmark": f"private step: {part}",
                "variant": name,
                "noise_multiplicity": setting["noise_multiplicity"],
                "parameters": times["parameters"],
                "records": setting["images"] // setting["noise_multiplicity"],
                "seconds_per_image": statistics.median(seconds) / setting["images"],
                "peak_bytes": peaks[name],
                "ratio_to_not_private": statistics.median(ratios),
                "peak_to_not_private": peaks[name] / peaks[BASELINE],
                "rounds": len(seconds),
                "note": times["notes"][name] if setting["noise_multiplicity"] > 1 else "",
            }


def print_table(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """One line a variant."""
    print(f"\n{title}\n{'':28}{'gradient part':>22}{'whole step':>22}{'peak memory':>20}")
    print(f"{'':28}{'ms/image':>12}{'ratio':>10}{'ms/image':>12}{'ratio':>10}{'MiB':>12}{'ratio':>8}")
    half = len(rows) // 2
    for part, whole in zip(rows[:half], rows[half:], strict=True):
        times = "".join(f"{1e3 * row['seconds_per_image']:12.2f}{row['ratio_to_not_private']:10.3f}" for row in (part, whole))
        note = f"  ({whole['note']})" if whole["note"] else ""
        print(f"{whole['variant']:28}{times}{whole['peak_bytes'] / 2**20:12.0f}{whole['peak_to_not_private']:8.2f}{note}", flush=True)


def machine(options: argparse.Namespace) -> dict[str, Any]:
    """What the figures were measured on."""
    import torch

    return {
        "processor": platform.processor() or platform.machine(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": options.threads,
        "torch": str(torch.__version__),
        "microbatch_size": MICROBATCH_SIZE,
        "load_average": os.getloadavg()[0],
    }


if __name__ == "__main__":
    main()
