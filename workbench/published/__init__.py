"""Printed results as data, of the papers and of a benchmark, each with its source, protocol and printed epsilon and delta."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_WHAT = ("source", "table", "method", "method_id", "variant", "dataset", "resolution")
COLUMNS = (*_WHAT, "epsilon", "delta", "public_data", "metric", "value", "std", "note")


@cache
def _table() -> "pd.DataFrame":
    import pandas as pd

    path = Path(__file__).with_name("published_results.csv")
    frame = pd.read_csv(path, dtype={"source": str, "table": str, "method": str, "variant": str, "delta": str, "note": str})
    frame["public_data"] = frame["public_data"].eq("yes")
    for column in ("variant", "delta", "note"):
        frame[column] = frame[column].fillna("")
    return frame.loc[:, list(COLUMNS)]


def load_published(dataset: str | None = None, metric: str | None = None) -> "pd.DataFrame":
    """A copy of the published rows, all of them or those of one dataset or metric.

    Columns are `COLUMNS`. `epsilon` is the number the source prints (inf where it trained without privacy), with the
    source's own meaning: `note` says where that is not an (epsilon, delta) guarantee. Accuracies and privacy scores are
    fractions; `delta` is text as the source states it, a formula in n among them, empty where it states none; `std` is NaN where
    none is printed.
    """
    frame = _table()
    if dataset is not None:
        frame = frame.loc[frame["dataset"] == dataset]
    if metric is not None:
        frame = frame.loc[frame["metric"] == metric]
    return frame.reset_index(drop=True)
