"""What is released of columns, from configuration and facts; and what the model's columns are after it."""

from dataclasses import dataclass

from workbench.datasets.base import DatasetFacts
from workbench.models.grouping.config import Grouping
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.records import Column, TableKind
from workbench.training.exponential import choice_distance
from workbench.training.marginals import marginals_stage

EDGES, COUNTS = "quantile edges", "counts of categories"
RELEASED = ("edges", "category_counts")  # names of the state's tensors


@dataclass(frozen=True)
class Columns:
    """Which columns, by number, are cut at quantiles and which have their rare categories merged; the others stay."""

    cut: tuple[int, ...]
    merged: tuple[int, ...]


def columns_of(config: Grouping, facts: DatasetFacts) -> Columns:
    """Ranges are cut, other categories merged, of columns that have more than are asked for."""
    numbered = list(enumerate(TableKind.of(facts.kind).columns))
    wide = [number for number, column in numbered if not column.edges and len(column.categories) > config.most_categories + 1]
    cut = tuple(number for number, column in numbered if column.num_ranges > config.quantile_ranges) if config.quantile_ranges else ()
    return Columns(cut, tuple(wide) if config.most_categories else ())


def stages(config: Grouping, facts: DatasetFacts) -> list[Stage]:
    """The choice of edges and the counts of categories, where there is a column for them."""
    columns = columns_of(config, facts)
    edges = [_edges(config, facts, columns.cut)] if columns.cut else []
    return [*edges, *([marginals_stage(COUNTS, config.count_noise, sum(sizes(facts, columns.merged)))] if columns.merged else [])]


def squared_budget(config: Grouping, facts: DatasetFacts) -> float:
    """What both cost together, as 1 / noise^2 of the one Gaussian release that they count as; 0 where nothing is released."""
    columns = columns_of(config, facts)
    return config.edge_noise**-2 * bool(columns.cut) + config.count_noise**-2 * bool(columns.merged)


def sizes(facts: DatasetFacts, numbers: tuple[int, ...]) -> list[int]:
    """Declared categories of some columns."""
    return [TableKind.of(facts.kind).categories[number] for number in numbers]


def num_steps(config: Grouping, columns: Columns) -> int:
    """Steps of the choice of edges: every column is halved level by level."""
    return config.levels * len(columns.cut)


def _edges(config: Grouping, facts: DatasetFacts, cut: tuple[int, ...]) -> Stage:
    steps = config.levels * len(cut)
    return Stage(
        name=EDGES,
        event=ExponentialMechanismDpEvent(2.0 * config.edges_epsilon(steps), zero_out_ratio=0.5),
        spent="per_step",
        steps=steps,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once a level",
        sampler_distance=config.levels * sum(choice_distance(size) for size in sizes(facts, cut)),
        reason="A step halves every range of a column near its median. An edge's score is minus the difference of the counts on its sides: "
        "making a record null moves it by at most 1, in one range alone; replacing it by at most 2 in one or by 1 in each of two.",
    )


def grouped_facts(config: Grouping, facts: DatasetFacts) -> DatasetFacts:
    """The facts as the model has them: columns by the number of their groups, whatever these turn out to be.

    Rules of such columns are none of its groups; rows are held to them when they are in the declared categories again.
    """
    columns = columns_of(config, facts)
    if not (columns.cut or columns.merged):
        return facts
    kind = TableKind.of(facts.kind)
    kept = [
        Column(name=column.name, categories=_groups(config, column)) if number in columns.cut + columns.merged else column
        for number, column in enumerate(kind.columns)
    ]
    changed = {kind.columns[number].name for number in columns.cut + columns.merged}
    never = tuple(rule for rule in kind.never if not changed.intersection(rule.columns))
    return facts.model_copy(update={"kind": kind.model_copy(update={"columns": tuple(kept), "never": never})})


def _groups(config: Grouping, column: Column) -> tuple[str, ...]:
    """By number: the ranges and what the column has beside them, or the frequent categories and the others as one."""
    count = config.quantile_ranges + len(column.categories) - column.num_ranges if column.edges else config.most_categories + 1
    return tuple(str(number) for number in range(count))
