"""How the model makes a sample of noise: the sample noised ever more, and what its denoising brings back."""

import numpy as np
import streamlit as st

from workbench.datasets import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation.returning import Returning, returning
from workbench.records import Records
from workbench.runs.samples import SampleSet, sample_set
from workbench.ui.actions import errors_shown
from workbench.ui.formats import number
from workbench.ui.gallery import sheet
from workbench.workspace import Workspace

PIXELS = 96
SAYS = (
    "A sample's path from noise is not kept, as its noise was fresh. This is the same image with the noise of time t added, and what the "
    "run's model makes of it from there (DDIM, no guidance). A model that learned the class alone brings back another image once t is "
    "large. One that brings back this image and no other from almost pure noise may have learned it by heart: compare the nearest record. "
    "A class in which all images are alike comes back as well, so this proves nothing alone."
)


def show_returning(index: int, samples: Records, chosen: SampleSet, dataset: Dataset, place: int, prefix: str) -> None:
    """A film strip of one sample of a diffusion model, if the visitor wants it; `place` is the nearest training record's."""
    if chosen.denoiser() is None:
        return
    if not st.toggle("How the model makes it of noise", key=f"{prefix}returning", bind="query-params"):
        return
    label = None if samples.labels is None else int(samples.labels[index])
    with errors_shown():
        returning = _returning(chosen.owner, chosen.id, samples.records[index], label)
        times = ", ".join(map(str, returning.times))
        st.image(
            sheet(np.concatenate([returning.noised, returning.returned]), len(returning.times), PIXELS),
            caption=f"Above: sample {index} noised to t = {times}. Below: what the model brings back from there. Private.",
            alt=f"Sample {index} noised to {len(returning.times)} time steps, and denoised from each",
            output_format="PNG",
        )
        to_sample, to_record = returning.distances(samples.records[index]), returning.distances(dataset.train.records[place])
        rows = {
            "t": [str(time) for time in returning.times],
            "from the sample (private)": [number(value, 2) for value in to_sample.tolist()],
            f"from training record {place} (private)": [number(value, 2) for value in to_record.tolist()],
        }
        st.dataframe(rows, hide_index=True, alt="How far what comes back is from the sample and from its nearest training record (private)")
        st.caption(f"Distances are root mean squares over pixels between 0 and 1. {SAYS}")


@st.cache_data(max_entries=50, show_spinner="Denoising …")
def _returning(owner: str, samples: str, image: np.ndarray, label: int | None) -> Returning:
    denoiser = sample_set(Workspace.default(), owner, samples).denoiser()
    if denoiser is None:
        raise WorkbenchError(f"Expected samples of a diffusion model, got those of {owner}.")
    return returning(denoiser(), Records(image[None], None if label is None else np.array([label])))
