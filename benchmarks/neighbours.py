"""What an exact search for nearest neighbours costs, beside faiss-cpu's flat index in the same run.

`python -m benchmarks.neighbours` prints a table: 10 000 points against 60 000 in 2 048 dimensions, ours ranked again in double precision.
The two take turns, each in a process of its own, so that the memory is that of one search.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.limits import limit_row, print_limits

REPEATS, THREADS = 3, 2
SIZES = {"queries": 10_000, "base": 60_000, "dimensions": 2_048}
LIMITS = {"time over faiss's flat index": 1.6, "memory, GB": 2.0}


def rows(repeats: int = REPEATS) -> list[dict[str, Any]]:
    """One row a limit, as `limit_row` makes them; printed too."""
    pairs = [(alone("ours"), alone("faiss")) for _ in range(repeats)]
    assert all(mine["distances"] == theirs["distances"] for mine, theirs in pairs), "they found different neighbours"
    seconds = {
        "time over faiss's flat index": [mine["seconds"] / theirs["seconds"] for mine, theirs in pairs],
        "memory, GB": [mine["peak_bytes"] / 1e9 for mine, _ in pairs],
    }
    title = "exact nearest neighbours, {queries} x {base} x {dimensions}".format(**SIZES)
    result = [limit_row(title, name, values, LIMITS[name]) for name, values in seconds.items()]
    print_limits(title, result)
    return result


def alone(library: str) -> dict[str, Any]:
    """Seconds, the most memory held in bytes, and a sum over distances to six digits, of one search in a fresh process."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.neighbours", library], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ours() -> Callable[..., Any]:
    """Our search, loaded: of (queries, base), distances to the nearest."""
    import torch

    from workbench.evaluation.nearest import nearest

    torch.set_num_threads(THREADS)
    return lambda queries, base: nearest(queries, base)[1][:, 0]


def faiss() -> Callable[..., Any]:
    """Faiss's flat index, loaded; it computes squares in single precision."""
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(THREADS)

    def search(queries: Any, base: Any) -> Any:
        index = faiss.IndexFlatL2(base.shape[1])
        index.add(base)
        return np.sqrt(index.search(queries, 1)[0][:, 0])

    return search


def search_figures(search: Callable[..., Any]) -> dict[str, Any]:
    """One search of normal points, drawn by a fixed seed."""
    import resource

    import numpy as np

    generator = np.random.default_rng(0)
    queries, base = (generator.standard_normal((SIZES[name], SIZES["dimensions"]), dtype=np.float32) for name in ("queries", "base"))
    began = time.perf_counter()
    distances = search(queries, base)
    seconds = time.perf_counter() - began
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "peak_bytes": peak, "distances": f"{float(np.mean(distances, dtype=np.float64)):.5g}"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("library", nargs="?", choices=["ours", "faiss"])
    chosen = parser.parse_args().library
    if chosen is None:
        rows()
    else:
        print(json.dumps(search_figures({"ours": ours, "faiss": faiss}[chosen]())))
