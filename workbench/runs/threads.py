"""How many threads measures and searches take: beside a busy process, threads that wait for each other spin and lose all they gain."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from workbench.errors import WorkbenchError


def threads_of_measures() -> int:
    """`WORKBENCH_THREADS`, or half of the processors."""
    text = os.environ.get("WORKBENCH_THREADS")
    if text is None:
        return max(1, (os.cpu_count() or 1) // 2)
    if not text.isdecimal() or int(text) < 1:
        raise WorkbenchError(f"Expected a number of threads from 1 in WORKBENCH_THREADS, got {text!r}.")
    return int(text)


@contextmanager
def few_threads() -> Iterator[None]:
    """Let torch and the libraries of linear algebra take at most `threads_of_measures`, and never more than they took before."""
    import torch
    from threadpoolctl import threadpool_info, threadpool_limits

    import_module("sklearn.linear_model")  # its libraries have to be there to be told
    before = torch.get_num_threads()
    count = min([threads_of_measures(), before, *(pool["num_threads"] for pool in threadpool_info())])
    with threadpool_limits(limits=count):
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)
