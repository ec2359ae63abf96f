"""What the workbench's own methods reached in shipped recipes, run by run, as data: each value with its bound and where it is from.

Every CSV file beside this module has the name of its recipe, and is as `workbench report RESULTS --rows FILE` wrote it.
"""

from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FLOOR = "class-moments"  # the method that others have to beat: three Gaussian releases and no network
_WHAT = ("line", "method", "dataset", "bound", "delta", "relation", "claim")
_VALUE = ("measure", "features", "num_samples", "value", "low", "high", "mark", "epsilon_zero", "epsilon_zero_mark", "ceiling")
_PROVENANCE = ("run", "seed", "seconds", "drawing_seconds", "code", "torch", "processor", "threads")
WRITTEN = (*_WHAT, *_VALUE, *_PROVENANCE)
COLUMNS = ("recipe", *WRITTEN)
_TEXTS = ("features", "mark", "epsilon_zero_mark", "run", "code", "torch", "processor", "threads", "seed")


@cache
def _table() -> "pd.DataFrame":
    import pandas as pd

    parts = [_read(path) for path in sorted(Path(__file__).parent.glob("*.csv"))]
    rows = pd.concat(parts, ignore_index=True).loc[:, list(COLUMNS)]
    for same in (["run", "measure"], ["line", "dataset", "seed", "measure"]):  # recipes share lines, some under other names
        rows = rows.drop_duplicates(same, keep="last", ignore_index=True)
    return rows


def _read(path: Path) -> "pd.DataFrame":
    import pandas as pd

    texts: dict[Hashable, str] = dict.fromkeys(_TEXTS, "str")
    empty: dict[Hashable, list[str]] = {column: [""] for column in WRITTEN if column not in _TEXTS}
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=empty).assign(recipe=path.stem)


def load_measured(dataset: str | None = None, measure: str | None = None) -> "pd.DataFrame":
    """A copy of the measured rows, one a run and measure: all of them, or those of one dataset or measure.

    Columns are `COLUMNS`. `bound` is the proved epsilon at `delta` for `relation`; `low` and `high` are the value's 95 %
    interval. `ceiling` is the measure of real training records and `epsilon_zero` of the run's own public model, NaN where it
    has none. A `seed` says that the run was repeatable and hence not releasable; without one its noise was the system's.
    """
    frame = _table()
    if dataset is not None:
        frame = frame.loc[frame["dataset"] == dataset]
    if measure is not None:
        frame = frame.loc[frame["measure"] == measure]
    return frame.reset_index(drop=True)
