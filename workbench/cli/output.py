"""How the command line shows things: JSON for programs, aligned text for people, progress on stderr."""

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import zip_longest
from typing import Any

from workbench.escaping import terminal
from workbench.plan import Plan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.run import Run
from workbench.serialization import dumps, jsonable

QUICK = 1.0  # seconds that nobody needs a bar for


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(dumps(value, indent=2))


def readable(value: Any, indent: int | None = None) -> str:
    """JSON for people, with letters of any script as they are; escaped where stdout cannot show them."""
    text = json.dumps(jsonable(value), indent=indent, allow_nan=False, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return dumps(value, indent)
    return text


def print_table(rows: Sequence[Mapping[str, Any]], empty: str) -> None:
    """Rows as aligned columns under their names; the sentence `empty` if there are none."""
    if not rows:
        print(empty)
        return
    lines = [list(map(terminal, rows[0])), *[[short(value) for value in row.values()] for row in rows]]
    for place, columns in enumerate(column_groups(lines, line_width())):
        print("\n" * (place > 0), end="")
        print_columns([[line[column] for column in columns] for line in lines])


def column_groups(lines: Sequence[Sequence[str]], limit: int) -> list[list[int]]:
    """Columns that go side by side within `limit` without breaking a word, the first one at the head of each group."""
    least = [longest_word(line[column] for line in lines) for column in range(len(lines[0]))]
    groups = [[0]]
    for column in range(1, len(least)):
        together = [*groups[-1], column]
        if len(groups[-1]) > 1 and sum(least[one] for one in together) + 2 * (len(together) - 1) > limit:
            together = [0, column]
            groups.append(together)
        groups[-1] = together
    return groups


def print_columns(lines: Sequence[Sequence[str]]) -> None:
    """Lines of cells as aligned columns; a cell that does not fit goes on below."""
    least = [longest_word(line[column] for line in lines) for column in range(len(lines[0]))]
    wanted = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    widths = column_widths(wanted, line_width(), least)
    for line in lines:
        wrapped = [textwrap.wrap(cell, width, break_on_hyphens=False) or [""] for cell, width in zip(line, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            print("  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip())


def longest_word(cells: Iterable[str]) -> int:
    """Letters of the longest word in these cells."""
    return max(len(word) for cell in cells for word in cell.split() or [""])


def column_widths(wanted: Sequence[int], limit: int, least: Sequence[int]) -> list[int]:
    """Widths of columns two blanks apart that stay within `limit`: the widest gives way first, to no less than its `least`.

    Words of two columns alone that are longer than the limit are broken.
    """
    widths = list(wanted)
    while sum(widths) + 2 * (len(widths) - 1) > limit:
        yielding = [column for column, width in enumerate(widths) if width > least[column]] or [widths.index(max(widths))]
        widest = max(yielding, key=lambda column: widths[column])
        if widths[widest] <= 8:
            break
        widths[widest] -= 1
    return widths


def line_width() -> int:
    """Characters of a line: the terminal's, at least 60; 120 where there is no terminal."""
    return max(60, shutil.get_terminal_size((120, 24)).columns)


def print_fields(values: Mapping[str, Any], indent: str = "") -> None:
    """A field a line, nested ones indented, long texts wrapped under their beginning."""
    shown = {terminal(name): value for name, value in values.items()}
    width = max((len(name) for name in shown), default=0)
    for name, value in shown.items():
        if isinstance(value, Mapping) and value:
            print(f"{indent}{name}")
            print_fields(value, indent + "  ")
        else:
            start = f"{indent}{name.ljust(width)}  "
            print(textwrap.fill(f"{start}{short(value)}", line_width(), subsequent_indent=" " * len(start), break_long_words=False))


def short(value: Any) -> str:
    """A value in a cell: four significant digits, a dash for nothing."""
    if value is None or value == "":
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else str(jsonable(value))
    return ", ".join(short(item) for item in value) if isinstance(value, (list, tuple)) else terminal(value)


def warn(sentences: Iterable[str | None]) -> None:
    """Each sentence on stderr."""
    for sentence in sentences:
        if sentence:
            print(f"Warning: {terminal(sentence)}", file=sys.stderr)


def moment(seconds: float | None) -> str | None:
    """A time in seconds since the epoch as this machine's clock shows it; None stays None."""
    return None if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def describe_value(value: PrivacyValue) -> dict[str, Any]:
    """The fields of an epsilon that say something; a claim that was not evaluated has no number, not an infinite one."""
    if value.status == "not_evaluated":
        return {"epsilon": "none", "status": value.status, "reason": value.reason}
    fields = {"epsilon": value.epsilon, "delta": value.delta, "status": value.status, "accountant": value.accountant}
    fields |= {
        "neighboring relation": value.neighboring_relation,
        "sampling": value.sampling,
        "reason": value.reason,
        "source": value.source,
    }
    return {name: field for name, field in fields.items() if field != ""}


def bounds_of(bound: PrivacyValue, replace_one: PrivacyValue | None) -> dict[str, Any]:
    """A bound, and beside it the one where a record is replaced by another, if there is one."""
    beside = {"bound where one record is replaced": describe_value(replace_one)} if replace_one else {}
    return {"bound": describe_value(bound), **beside}


def strict_fields(plan: Plan) -> dict[str, Any]:
    """The bound of a plan's releases at delta 1/n^2, where its own delta is larger."""
    from workbench.planning import strict_bound

    bound = strict_bound(plan)
    return {} if bound is None else {"bound at delta 1/n^2": {"epsilon": bound.epsilon, "delta": bound.delta}}


def run_values(run: Run) -> dict[str, Any]:
    """A run as the command line gives it, without its process; `releasable` is of now, `seconds_running` of all attempts."""
    added = {"releasable": run.may_be_released, "replace_one": jsonable(run.replace_one), "seconds_running": run.seconds_running}
    values = jsonable(run) | added
    values.pop("process")
    values["audit_design"] = values.pop("audit")
    return values


@contextmanager
def progress_bar(title: str, delay: float = 0.0) -> Iterator[Callable[[float], None]]:
    """A bar on stderr, moved by a share from 0 to 1; it shows after `delay` seconds."""
    from tqdm import tqdm

    shape = "{desc} {percentage:3.0f}% |{bar}| {elapsed}<{remaining}"
    with tqdm(total=100, desc=terminal(title), file=sys.stderr, bar_format=shape, **{"delay": delay, **bar_pace()}) as bar:
        yield lambda share: _move(bar, round(100 * share))


@contextmanager
def reading_bar(title: str) -> Iterator[None]:
    """A bar on stderr of how far files of rows are read inside; none where that takes no longer than QUICK seconds."""
    from workbench.datasets.row_files import reading_progress

    with progress_bar(title, QUICK) as move, reading_progress(move):
        yield


def bar_pace() -> dict[str, Any]:
    """How often a bar is drawn: tqdm's own pace on a terminal, one line every half minute where stderr is a file or a pipe."""
    return {} if sys.stderr.isatty() else {"delay": 30.0, "mininterval": 30.0, "maxinterval": 60.0}


def _move(bar: Any, position: int) -> None:
    bar.update(max(0, position - bar.n))
