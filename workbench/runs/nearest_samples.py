"""The samples nearest to every record of a finished run: searched once, kept beside the samples, private."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.files import written_atomically
from workbench.runs.sample_files import open_arrays
from workbench.runs.samples import DEFAULT, sample_set
from workbench.runs.samples.sets import ProgressFunction, progress_within
from workbench.runs.threads import few_threads
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.evaluation.nearest_samples import NearestSamples

KEPT = 5  # samples of each record
PRIVATE = (
    "It looks at private records. Of a record that left no trace in the samples, any share of held-out records is as likely as another; "
    "of a hundred such records one is nearer than 99 % of them by chance."
)


def nearest_samples_run(
    workspace: Workspace,
    owner: str,
    features: str = "pixels",
    num_samples: int | None = None,
    progress: ProgressFunction | None = None,
    samples: str = DEFAULT,
) -> "NearestSamples":
    """The nearest of so many samples of a set to each training and held-out record; draws them where there are fewer yet."""
    from workbench.evaluation import feature_of, feature_space
    from workbench.evaluation.nearest_samples import find_nearest_samples

    feature_of(features)
    chosen_set = sample_set(workspace, owner, samples)
    dataset = chosen_set.dataset()
    records = chosen_set.records(num_samples, progress_within(progress, 0.0, 0.4))
    path = chosen_set.nearest_samples(features, len(records))
    if path.exists():
        return _read(path)
    with few_threads():
        space = feature_space(features, dataset, chosen_set.public_dataset(), workspace=workspace)
        near = find_nearest_samples(records, dataset, space, KEPT, progress_within(progress, 0.4, 1.0))
    arrays: dict[str, Any] = {field.name: np.asarray(getattr(near, field.name)) for field in fields(near)}
    with written_atomically(path, "wb") as file:
        np.savez(file, **arrays)
    return near


def kept_nearest_samples(
    workspace: Workspace, owner: str, features: str, num_samples: int, samples: str = DEFAULT
) -> "NearestSamples | None":
    """What is kept of `nearest_samples_run`, or None."""
    path = sample_set(workspace, owner, samples).nearest_samples(features, num_samples)
    return _read(path) if path.exists() else None


def _read(path: "Path") -> "NearestSamples":
    from workbench.evaluation.nearest_samples import NearestSamples

    with open_arrays(path) as file:
        return NearestSamples(str(file["features"]), *(file[field.name] for field in fields(NearestSamples)[1:]))
