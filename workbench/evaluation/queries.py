"""Queries that pick out one row of a table: conditions on some columns, and how many rows meet them (Giomi et al. 2023, singling out)."""

from collections.abc import Sequence

import numpy as np

from workbench.evaluation.nearest_rows import Columns

Query = tuple[tuple[int, tuple[bool, ...]], ...]  # of each of its columns which categories meet it

QUERIES, MOST_TRIED, COLUMNS = 1_000, 20_000, 4
SIZES, CHANCES = 10, 400  # how many cuts of the held-out rows the model is fitted to, by so many largest chances


def singling_out_queries(rows: np.ndarray, columns: Columns, draw: np.random.Generator) -> list[Query]:
    """At most QUERIES different ones that one of the rows int64 (N, columns) alone meets, made from rows drawn.

    On COLUMNS columns drawn: the row's own category, of ranges all from it on away from the median.
    """
    medians, width = np.median(rows, axis=0), min(COLUMNS, rows.shape[1])
    by_column = np.ascontiguousarray(rows.T)
    queries: dict[Query, None] = {}
    for row in rows[draw.integers(0, len(rows), MOST_TRIED)]:
        chosen = np.sort(draw.permutation(rows.shape[1])[:width])
        query = tuple((int(column), _of_row(int(row[column]), int(column), columns, medians)) for column in chosen)
        if query not in queries and count(query, by_column) == 1:
            queries[query] = None
        if len(queries) == QUERIES:
            break
    return list(queries)


def random_queries(rows: np.ndarray, columns: Columns, number: int, draw: np.random.Generator) -> list[Query]:
    """What someone asks who guesses: columns, values of them that occur, and equal, unequal, at least or at most, all drawn evenly."""
    values = [np.unique(column) for column in rows.T]
    width = min(COLUMNS, rows.shape[1])
    return [
        tuple(
            (int(column), _drawn_condition(values[column], int(column), columns, draw))
            for column in draw.permutation(rows.shape[1])[:width]
        )
        for _ in range(number)
    ]


def singled_out(queries: Sequence[Query], rows: np.ndarray) -> np.ndarray:
    """Whether one row alone meets each query, bool (queries,)."""
    return _counts(queries, rows) == 1


def held_out_at_size(queries: Sequence[Query], rows: np.ndarray, size: int) -> float:
    """How many of the queries would be met by one row alone, were there `size` rows such as these, M in number.

    Counted where `size` is M. Otherwise what a part of the rows would say follows from the counts, at SIZES sizes; a model of queries whose
    chances to be met lie evenly below w, norm (1 - (1 - w)^n (1 + n w)) / (n + 1) (the published package's; Cohen and Nissim 2020), is
    fitted to these, and the number at M is taken times what the model says of `size` and of M.
    """
    counts = _counts(queries, rows)
    right = float(np.sum(counts == 1))
    if len(rows) == size or not right:
        return right
    sizes = np.linspace(min(1_000, max(1, len(rows) // SIZES)), len(rows), SIZES).astype(np.int64)
    expected = np.array([_expected_singles(counts, len(rows), int(part)) for part in sizes])
    chances = np.geomspace(0.01 / len(rows), 1.0, CHANCES)[:, None]
    modelled = _model(sizes, chances)  # (CHANCES, SIZES)
    norms = (modelled @ expected / np.square(modelled).sum(axis=1))[:, None]
    best = chances[np.square(norms * modelled - expected).sum(axis=1).argmin()]
    there, at_size = _model(np.array([len(rows), size]), best)
    return float(min(len(queries), right * at_size / there))


def _model(numbers: np.ndarray, chances: np.ndarray) -> np.ndarray:
    return (1 - (1 - chances) ** numbers * (1 + numbers * chances)) / (numbers + 1)


def count(query: Query, by_column: np.ndarray) -> int:
    """How many rows, int64 (columns, N), meet the query."""
    met = np.ones(by_column.shape[1], dtype=bool)
    for column, categories in query:
        met &= np.array(categories)[by_column[column]]
    return int(np.count_nonzero(met))


def _counts(queries: Sequence[Query], rows: np.ndarray) -> np.ndarray:
    by_column = np.ascontiguousarray(rows.T)
    return np.array([count(query, by_column) for query in queries], dtype=np.int64)


def _expected_singles(counts: np.ndarray, rows: int, part: int) -> float:
    """Of queries that so many of the rows meet, how many are met by one alone of a part of the rows, in expectation (hypergeometric)."""
    from scipy.stats import hypergeom

    return float(hypergeom.pmf(1, rows, counts, part).sum())


def _of_row(value: int, column: int, columns: Columns, medians: np.ndarray) -> tuple[bool, ...]:
    places, ordered = range(columns.sizes[column]), columns.ordered[column]
    if value >= ordered:
        return tuple(place == value for place in places)
    return tuple(place < ordered and (place >= value if value > medians[column] else place <= value) for place in places)


def _drawn_condition(values: np.ndarray, column: int, columns: Columns, draw: np.random.Generator) -> tuple[bool, ...]:
    places, ordered, value = np.arange(columns.sizes[column]), columns.ordered[column], draw.choice(values)
    within = places < ordered
    conditions = (places == value, places != value, within & (places >= value), within & (places <= value))
    return tuple(bool(met) for met in conditions[draw.integers(0, len(conditions) if value < ordered else 2)])
