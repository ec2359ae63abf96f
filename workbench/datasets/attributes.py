"""Attributes in the user's own file of arrays: what else is known of each record, beside its label.

An attribute NAME is two arrays: `attribute_NAME`, integers (N,) from 0 to K-1, and `values_NAME` (K,), the names of its values, which are
declared and public as class names are. `held_out_attribute_NAME` are those of held-out records that the file brings.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workbench.datasets.naming import check_words
from workbench.errors import WorkbenchError

NUMBERS, NAMES, HELD_OUT = "attribute_", "values_", "held_out_"
Header = tuple[tuple[int, ...], np.dtype]


def is_attribute(array: str) -> bool:
    """Whether an array of this name is read as a part of an attribute."""
    return array.removeprefix(HELD_OUT).startswith(NUMBERS) or array.startswith(NAMES)


def check_attributes(headers: Mapping[str, Header], brings: bool, path: Path) -> tuple[str, ...]:
    """The names of a file's attributes, sorted; refuses one whose arrays are missing or of the wrong type or shape.

    `brings`: whether the file has held-out records of its own, for which every attribute is needed too.
    """
    names = sorted(name.removeprefix(NUMBERS) for name in headers if name.startswith(NUMBERS))
    expected = [f"{prefix}{NUMBERS}{name}" for name in names for prefix in (("", HELD_OUT) if brings else ("",))]
    expected += [f"{NAMES}{name}" for name in names]
    present = [array for array in headers if is_attribute(array)]
    if wrong := sorted(set(expected) ^ set(present)):
        raise WorkbenchError(
            f"Expected arrays {NUMBERS}NAME and {NAMES}NAME of every attribute in {path}, and {HELD_OUT}{NUMBERS}NAME where it has "
            f"held-out records, got {', '.join(present)}; add or leave out {', '.join(wrong)}."
        )
    for array in present:
        shape, dtype = headers[array]
        images = f"{HELD_OUT if array.startswith(HELD_OUT) else ''}images"
        if array.startswith(NAMES) and (len(shape) != 1 or not shape[0] or dtype.kind not in "iuU"):
            raise WorkbenchError(f"Expected {array} as a list of names in {path}, got {dtype} {shape}; correct it.")
        if not array.startswith(NAMES) and (dtype.kind not in "iu" or shape != headers[images][0][:1]):
            raise WorkbenchError(f"Expected {array} as {headers[images][0][0]} integers in {path}, got {dtype} {shape}; give one an image.")
    return check_words(names, "names of attributes")


def value_names(arrays: Mapping[str, np.ndarray], names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The names of each attribute's values."""
    return {name: check_words(tuple(map(str, arrays[NAMES + name])), f"values of {name}") for name in names}


def value_numbers(arrays: Mapping[str, np.ndarray], values: Mapping[str, tuple[str, ...]], split: str, path: Path) -> dict[str, np.ndarray]:
    """Each attribute's numbers, int64 (N,), for the records of a split ("" or `HELD_OUT`); refused outside its values."""
    return {
        name: positions(arrays[f"{split}{NUMBERS}{name}"], len(known), "numbers", f"the values of {name} in {path}")
        for name, known in values.items()
    }


def positions(numbers: np.ndarray, count: int, what: str, of: str) -> np.ndarray:
    """Numbers of any integer type as int64, each from 0 to `count` - 1; `what` they are `of` goes into the error."""
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or high >= count:
        raise WorkbenchError(f"Expected {what} 0 to {count - 1} for {of}, got {low} to {high}; correct them.")
    return numbers.astype(np.int64)
