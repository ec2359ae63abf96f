"""All samples at once: distance to the nearest training record against its ratio to that of held-out records; one of them enlarged."""

import math
from collections.abc import Mapping
from itertools import takewhile

import numpy as np
import pandas as pd
import streamlit as st
from scipy import stats

from workbench.datasets import Dataset
from workbench.evaluation import Neighbours
from workbench.pages.gallery.queue import in_order
from workbench.records import ImageKind, Records, TableKind
from workbench.runs.verdicts import Verdict
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.gallery import picture
from workbench.ui.theme import VERMILION

ZOOM_PIXELS = 180
READ = (
    "Left and low is suspicious: near a training record, and nearer than to any held-out one. Click a point, or type a sample's number, to "
    "see it enlarged beside its nearest training record. A ratio of 1 says that both lie equally far."
)


def ratios(neighbours: Neighbours) -> np.ndarray:
    """Distance to the nearest training record over that to the nearest held-out one (N,); 1 where both are 0."""
    near, far = neighbours.distances[:, 0], neighbours.held_out_distances
    return np.divide(near, far, out=np.where(near > 0, np.inf, 1.0), where=far > 0)


def scatter(neighbours: Neighbours, key: str) -> int | None:
    """The chart of all samples; the sample that was clicked, or None."""
    ratio, distance = ratios(neighbours), neighbours.distances[:, 0]
    shown = np.isfinite(ratio)
    figure = charts.empty_figure(f"Distance to the nearest training record ({neighbours.features})", "Ratio to held-out")
    figure.add_scatter(
        x=distance[shown].tolist(), y=ratio[shown].tolist(), customdata=np.flatnonzero(shown).tolist(), mode="markers", name="samples",
        marker={"size": 7, "opacity": 0.7, "color": VERMILION},
        hovertemplate="sample %{customdata}<br>%{x:.3g}, ratio %{y:.3g}<extra></extra>",
    )  # fmt: skip
    if not shown.all():
        st.caption(f"{int((~shown).sum())} of {len(ratio)} samples lie on a held-out record and on no training one: their ratio is ∞.")
    figure.add_hline(1.0, line={"color": charts.GREY, "dash": "dash"})
    figure.update_layout(height=340, showlegend=False)
    frame = pd.DataFrame({"sample": np.arange(len(distance)), "distance (private)": distance, "ratio (private)": ratio})
    alt = f"Distance against ratio of {len(distance)} samples (private); {int((ratio < 1).sum())} are nearer to training"
    event = charts.show(figure, alt, frame, key, on_select="rerun", selection_mode="points")
    points = event["selection"]["points"] if event else []
    return int(np.flatnonzero(shown)[points[0]["point_index"]]) if points else None


def zoom(index: int, samples: Records, dataset: Dataset, neighbours: Neighbours) -> None:
    """A sample, its nearest training record, and what differs, each enlarged; of a table, the columns that differ."""
    place, distance = int(neighbours.indices[index, 0]), float(neighbours.distances[index, 0])
    st.markdown(f"**Enlarged: sample {index} beside training record {place}**, at distance {number(distance)}")
    one, other = samples.records[index], dataset.train.records[place]
    if not isinstance(dataset.facts.kind, ImageKind):
        st.dataframe(differing_columns(one, other, dataset), hide_index=True, alt=f"Sample {index} and record {place}, column by column")
        return
    views = {"generated": one, "training record": other, "difference": difference(one, other)}
    pictures = [picture(view, ZOOM_PIXELS) for view in views.values()]
    alt = [f"{name}, sample {index}, training record {place}" for name in views]
    st.image(pictures, caption=list(views), alt=alt, width=pictures[0].width, output_format="PNG")
    st.caption("The difference is white where they agree, and darker the more they differ; it is scaled by its largest value. Private.")


def difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How far two images (C, H, W) uint8 differ by pixel: white where they agree, black where they differ most; (1, H, W) uint8."""
    apart = np.abs(one.astype(np.float64) - other.astype(np.float64)).max(axis=0, keepdims=True)
    most = float(apart.max())
    return (255 - (apart / most * 255 if most else apart)).round().astype(np.uint8)


def differing_columns(one: np.ndarray, other: np.ndarray, dataset: Dataset) -> pd.DataFrame:
    """Each column with both values, those that differ first."""
    columns = TableKind.of(dataset.facts.kind).columns
    rows = [
        {"column": column.name, "generated": column.categories[mine], "training record": column.categories[theirs], "same": mine == theirs}
        for column, mine, theirs in zip(columns, one.tolist(), other.tolist(), strict=True)
    ]
    return pd.DataFrame(sorted(rows, key=lambda row: row["same"]))


def must_see(share: float, confidence: float) -> int:
    """How many samples, drawn evenly and none of them a copy, show at `confidence` that fewer than `share` of all are copies."""
    return math.ceil(math.log1p(-confidence) / math.log1p(-share))


def how_many(given: Mapping[int, Verdict], total: int, prefix: str) -> None:
    """What number of samples a statement takes, and what the verdicts so far allow to say."""
    least, sure = st.columns(2)
    share = least.number_input(
        "Fewer copies than, in %", 0.01, 50.0, 1.0, step=None, format="%g", key=f"{prefix}share", bind="query-params"
    )
    confidence = sure.number_input(
        "At a confidence of, in %", 50.0, 99.99, 95.0, step=None, format="%g", key=f"{prefix}sure", bind="query-params"
    )
    needed = must_see(share / 100, confidence / 100)
    st.markdown(
        f"Look at **{needed:,} samples** and find no copy, to say that fewer than {share:g} % are copies, at {confidence:g} % confidence."
        + (f" There are {total:,}: draw more." if needed > total else "")
    )
    seen = seen_in_order(given, total)
    if seen:
        copies = sum(one.verdict in ("copied", "unsure") for one in seen)
        most = 100 * largest_share(copies, len(seen), confidence / 100)
        st.caption(
            f"The first {len(seen):,} samples, all judged, with {copies:,} called copied or unsure, allow to say: fewer than {most:.3g} %."
        )
    elif given:
        st.caption("Your verdicts so far are on samples that were picked, and allow no such statement: judge the first ones without a gap.")
    st.caption("It holds for samples that are looked at as they were drawn, or blinded, and not for the most suspicious first.")


def seen_in_order(given: Mapping[int, Verdict], total: int) -> list[Verdict]:
    """The verdicts on the longest beginning without a gap, in the order in which samples were drawn or in the blinded one: not picked."""
    beginnings = ([given[place] for place in takewhile(given.__contains__, in_order(range(total), blinded))] for blinded in (False, True))
    return max(beginnings, key=len)


def largest_share(copies: int, seen: int, confidence: float) -> float:
    """The upper end of Clopper and Pearson's one-sided interval of a share that `copies` of `seen` have."""
    return 1.0 if copies >= seen else float(stats.beta.ppf(confidence, copies + 1, seen - copies))
