"""The measures of tables alone, by name: marginals, uniques, attacks, detection."""

from workbench.evaluation import (
    cells,
    propensity,
    table_attacks,
    tables,
    uniques,
)
from workbench.evaluation.context import Measure, Metric, Split

TABLES = frozenset({"table"})
TRAIN: frozenset[Split] = frozenset({"train"})
HELD_OUT: frozenset[Split] = frozenset({"held_out"})


def _copying_metric(name: str, title: str, function: Measure, description: str) -> Metric:
    """How much samples tell of training rows beyond what they tell of others, as a share."""
    return Metric(
        name=name,
        title=title,
        kinds=TABLES,
        function=function,
        description=description,
        better="lower",
        touches=TRAIN | HELD_OUT,
        is_fraction=True,
        in_features=False,
    )


TABLE_MEASURES: dict[str, Metric] = {
    "one_way_marginals": tables.distance_metric(
        "one_way_marginals",
        "One-way marginals",
        tables.one_way_marginals,
        "Mean total variation distance between each column's categories among samples and among held-out records, the class a column too.",
    ),
    "two_way_marginals": tables.distance_metric(
        "two_way_marginals",
        "Two-way marginals",
        tables.two_way_marginals,
        "Mean total variation distance between the pairs of categories of every two columns, the class one of them.",
    ),
    "worst_column": tables.distance_metric(
        "worst_column",
        "Worst single column",
        cells.worst_column,
        "Total variation distance of the column that is farthest off, the class a column too; the note tells each, the target first.",
    ),
    "target_share": tables.distance_metric(
        "target_share",
        "Target's shares",
        cells.target_share,
        "Total variation distance of the classes' shares among samples, as they are drawn, from those of held-out records.",
        needs="labels",
    ),
    "three_way_marginals": tables.distance_metric(
        "three_way_marginals",
        "Three-way marginals",
        cells.three_way_marginals,
        "Mean total variation distance between the triples of categories of every three columns (300 of them where there are more).",
    ),
    "four_way_marginals": tables.distance_metric(
        "four_way_marginals",
        "Four-way marginals",
        cells.four_way_marginals,
        "The same of every four columns (300 of these sets where there are more); on request.",
        by_name=True,
    ),
    "five_way_marginals": tables.distance_metric(
        "five_way_marginals",
        "Five-way marginals",
        cells.five_way_marginals,
        "The same of every five columns (300 of these sets where there are more); on request.",
        by_name=True,
    ),
    "propensity_error": tables.distance_metric(
        "propensity_error",
        "Propensity score error",
        propensity.propensity_error,
        "Mean squared distance from 1/2 of the chance of being a sample, by a logistic regression that tells them from held-out records.",
    ),
    "unique_rows": _copying_metric(
        "unique_rows",
        "Unique rows reproduced",
        uniques.unique_rows,
        "Share of the training rows without an equal that are among the samples; held-out ones are in the note.",
    ),
    "unique_pairs": _copying_metric(
        "unique_pairs",
        "Unique pairs reproduced",
        uniques.unique_pairs,
        "Share of the pairs of values of two columns that one training row alone has and a sample has too.",
    ),
    "singling_out": _copying_metric(
        "singling_out",
        "Risk of singling out",
        table_attacks.singling_out,
        "How much oftener conditions that pick out one sample pick out one training row than one of as many held-out rows: "
        "(a - b) / (1 - b) of the two shares.",
    ),
    "linkability": _copying_metric(
        "linkability",
        "Risk of linking",
        table_attacks.linkability,
        "How much oftener two halves of a training row's columns lead to the same nearest sample than those of a held-out row: "
        "(a - b) / (1 - b) of the two shares.",
    ),
    "inference": _copying_metric(
        "inference",
        "Risk of inference",
        table_attacks.inference,
        "How much oftener the nearest sample by all other columns tells a value of a training row than of a held-out one: "
        "(a - b) / (1 - b) of the two shares.",
    ),
    "pairwise_associations": tables.distance_metric(
        "pairwise_associations",
        "Pairwise associations",
        tables.pairwise_associations,
        "Mean absolute difference of Cramer's V over every two columns, the class one of them.",
    ),
    "closest_record": Metric(
        name="closest_record",
        title="Nearer to the closest training record",
        kinds=TABLES,
        function=tables.closest_record,
        description="In how many columns fewer a sample differs from its closest training record than from the closest of equally many "
        "held-out ones, on average; no copying gives 0.",
        better="lower",
        touches=TRAIN | HELD_OUT,
        unit="columns",
        chance=lambda _facts: 0.0,
        in_features=False,
    ),
    "detection": Metric(
        name="detection",
        title="Detection",
        kinds=TABLES,
        function=tables.detection,
        description="Area under the ROC curve of a random forest that tells samples from held-out records, cross-validated; "
        "0.5 where it cannot.",
        better="lower",
        touches=HELD_OUT,
        chance=lambda _facts: 0.5,
        is_fraction=True,
        in_features=False,
    ),
}
