"""What the Records page says of one record: its curves, and the records that look like it."""

import pandas as pd
import streamlit as st

from workbench.datasets.base import Dataset
from workbench.models.table_columns import rows
from workbench.privacy.not_dp.neighbourhood import neighbourhood
from workbench.privacy.not_dp.per_instance import delta_figure, leakage_figure
from workbench.records import TableKind
from workbench.runs.exposure import Exposure
from workbench.ui import charts

SAMPLES = (1, 10, 100)
NEAREST = 10


def curves(exposure: Exposure, record: int, epsilon: float, prefix: str) -> None:
    """J over the steps of generation, and delta over the step at which samples are released."""
    leakage = exposure.leakage
    over_time, over_release = st.columns(2)
    frame = pd.DataFrame({"t": leakage.timesteps, "J_t (private)": leakage.per_step[:, record]})
    with over_time:
        last = float(leakage.per_step[-1, record] / leakage.total[record]) if leakage.total[record] else 0.0
        alt = f"J of record {record} at each time step: the last step makes {100 * last:.0f} % of it"
        charts.show(leakage_figure({"ideal denoiser": leakage}, [record]).update_layout(height=320), alt, frame, f"{prefix}time")
        st.caption(f"Step by step from noise (right) to samples (left). The last step shows {100 * last:.0f} % of it all. Private.")
    frame = pd.DataFrame({"release step": leakage.timesteps - 1, "J (private)": leakage.by_release_step()[:, record]})
    with over_release:
        alt = f"Delta of record {record} against the step at which samples are released, for {', '.join(map(str, SAMPLES))} samples"
        charts.show(delta_figure(leakage, record, epsilon, SAMPLES).update_layout(height=320), alt, frame, f"{prefix}release")
        st.caption(
            "Samples released earlier keep noise and show less; more samples show more. A delta of 1 means that no protection can be "
            "shown. Private."
        )


def neighbours(dataset: Dataset, record: int) -> None:
    """What the nearest other records have in common, beside the record itself."""
    kind, facts = TableKind.of(dataset.facts.kind), dataset.facts
    names = [column.name for column in kind.columns] + [kind.label] * bool(facts.classes)
    categories = [column.categories for column in kind.columns] + ([facts.classes] if facts.classes else [])
    table = rows(facts, dataset.train)
    near = neighbourhood(table, record, NEAREST)
    frame = pd.DataFrame(
        {
            "column": names,
            "this record": [texts[value] for texts, value in zip(categories, table[record], strict=True)],
            "share of all with it": near.own_shares,
            "its neighbours": [texts[value] for texts, value in zip(categories, near.common, strict=True)],
            "share of them": near.shares,
        }
    )
    count = len(near.indices)
    st.markdown(f"**Beside its {count} nearest records**")
    st.dataframe(frame, hide_index=True, alt=f"Record {record} beside what its {count} nearest records have in common, by column")
    nearest, farthest, copies = int(near.distances.min()), int(near.distances.max()), int((near.distances == 0).sum())
    far = f"The nearest differs in {nearest} of {len(names)} columns, the last of the {count} in {farthest}."
    st.caption(f"{far} {f'{copies} are equal to it: copies protect each other. ' if copies else ''}Private.")
