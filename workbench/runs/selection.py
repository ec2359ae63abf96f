"""Which runs are asked for, in what order and how many: the registry answers, so that many runs are listed as fast as few."""

from collections.abc import Sequence
from dataclasses import dataclass

FINITE = "json_extract(runs.bound, '$.epsilon')"
SORTS = {  # by name: what SQLite sorts by; an infinite bound is kept as a word, and comes last
    "newest first": "jobs.created DESC, jobs.rowid DESC",
    "bound, small first": f"typeof({FINITE}) = 'text', {FINITE}, jobs.created DESC",
    "steps done, many first": "jobs.step DESC, jobs.created DESC",
    "method": "runs.method, jobs.created DESC, jobs.rowid DESC",
}
NEWEST = next(iter(SORTS))


@dataclass(frozen=True)
class Selection:
    """Runs whose state, method and dataset are among those named, none letting everything pass, and that have all `tags`.

    Those with canaries alone where they are `audited`. At most `limit` of them in the order of `SORTS`; None is all.
    """

    states: Sequence[str] = ()
    methods: Sequence[str] = ()
    datasets: Sequence[str] = ()
    tags: Sequence[str] = ()
    audited: bool = False
    order: str = NEWEST
    limit: int | None = None

    def where(self) -> tuple[str, list[str]]:
        """The condition in SQL with its values; empty where everything passes."""
        named = (("jobs.state", self.states), ("runs.method", self.methods), ("runs.dataset", self.datasets))
        parts = [f"{column} IN ({', '.join('?' * len(values))})" for column, values in named if values]
        parts += ["runs.audit IS NOT NULL"] * self.audited
        parts += ["EXISTS (SELECT 1 FROM json_each(runs.tags) WHERE value = ?)"] * len(self.tags)
        values = [value for _, names in named for value in names] + list(self.tags)
        return (f"WHERE {' AND '.join(parts)}" if parts else ""), values

    def how(self) -> str:
        """Order and number in SQL."""
        return f"ORDER BY {SORTS[self.order]}" + ("" if self.limit is None else f" LIMIT {int(self.limit)}")


@dataclass(frozen=True)
class Facets:
    """What the runs of a home have to be filtered by, and what each is called: id, method and dataset, newest first."""

    methods: Sequence[str]
    datasets: Sequence[str]
    tags: Sequence[str]
    named: Sequence[tuple[str, str, str]]
