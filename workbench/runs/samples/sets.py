"""What every set of samples has, a run's as much as one made elsewhere: records, what they stand beside, and what they carry."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.runs.sample_files import read_records
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset
    from workbench.evaluation.context import Bits, Classes, Terms
    from workbench.models.denoising import Denoiser

ProgressFunction = Callable[[float], None]


def progress_within(progress: ProgressFunction | None, low: float, high: float) -> ProgressFunction | None:
    """A progress function for the part of the work from `low` to `high`, shares of the whole."""
    return None if progress is None else lambda share: progress(low + (high - low) * share)


class SampleSet(ABC):
    """Samples under the id of what they belong to (`owner`: a run, or an import) and their own, with the files kept of them.

    `facts`, `place` and `fingerprint` tell the records that they are measured against; `folder` holds samples and neighbours.
    """

    workspace: Workspace
    owner: str
    id: str
    folder: Path
    facts: DatasetFacts
    place: DatasetRef
    fingerprint: str
    noun: ClassVar[str] = "run"  # what `owner` is

    @property
    @abstractmethod
    def title(self) -> str:
        """Whose samples these are, in a line."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What tells this set from the others of its owner."""

    @property
    @abstractmethod
    def bound(self) -> PrivacyValue | None:
        """What is proved of the samples; None where nothing is known of how they were made."""

    @property
    @abstractmethod
    def releasable(self) -> bool:
        """Whether the samples may leave the room."""

    @property
    @abstractmethod
    def release_reason(self) -> str:
        """Why they may, or may not, in one sentence."""

    @property
    def claim_only(self) -> bool:
        """Whether they rest on a paper's word alone."""
        return False

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader has to know wherever the samples are shown; it may leave where they may."""
        return ()

    def note_cautions(self) -> None:  # noqa: B027 - of what was made elsewhere no prior is known
        """Find out whether the samples there are look like those of the model before any private record, where there is such a model."""

    def check_ready(self) -> None:  # noqa: B027 - what was made elsewhere always is
        """Refuse what has no samples yet and cannot draw any."""

    def check_number(self, num_samples: int) -> None:  # noqa: B027 - whoever draws has as many as are asked for
        """Refuse more samples than there can be."""

    def bound_with(self, num_samples: int) -> PrivacyValue | None:
        """What is proved of the run once `num_samples` samples are there, where drawing them is to be paid for; None where it is free."""
        del num_samples
        return None

    @property
    @abstractmethod
    def default_num_samples(self) -> int:
        """How many there are where no number is asked for."""

    @abstractmethod
    def records(self, num_samples: int | None = None, progress: ProgressFunction | None = None) -> Records:
        """The first `num_samples` samples, drawn if there are fewer yet; a sample's index always means the same."""

    def public_records(self, num_samples: int, progress: ProgressFunction | None = None) -> Records | None:
        """Samples of the model before it saw a private record, drawn alike; None where there is no such model."""
        return None

    def bits(self) -> "Bits | None":
        """What the model that the samples came from needs for each record; None where nothing is known of one that tells."""
        return None

    def classes(self) -> "Classes | None":
        """What the classifier says that was released beside the samples; None where nothing is known of one."""
        return None

    def terms(self) -> "Terms | None":
        """The terms of the bound of the model that the samples came from; None where nothing is known of one that tells."""
        return None

    def denoiser(self) -> "Callable[[], Denoiser] | None":
        """Loads the model that denoised noise into the samples; None where nothing is known of one that does."""
        return None

    @abstractmethod
    def public_dataset(self) -> "Dataset | None":
        """The public dataset that measures and neighbours take their features from; None where there is none."""

    @abstractmethod
    def notes(self) -> dict[str, Any]:
        """What goes with exported samples: where they come from, at what epsilon, and whether they may leave the room."""

    @property
    def file(self) -> Path:
        """The samples made so far."""
        return self.folder / "samples.npz"

    def copying_file(self, features: str, num_samples: int, attribute: str | None = None) -> Path:
        """What the nearest records tell of copying; judged by an attribute, under a digest of its name, which may be anybody's."""
        by = f"-by-{hashlib.sha256(attribute.encode()).hexdigest()[:16]}" if attribute else ""
        return self.folder / f"copying-{_part_of_name(features)}-{num_samples}{by}.json"

    def copies(self, features: str, num_samples: int, attribute: str | None = None) -> Path:
        """Everything that tells of copying."""
        name = self.copying_file(features, num_samples, attribute).name
        return self.folder / f"copies{name.removeprefix('copying')}"

    @property
    def evaluation(self) -> Path:
        """The evaluation made last."""
        return self.folder / "evaluation.json"

    def evaluation_beside(self, request: str) -> Path:
        """An evaluation that does not take the place of the last one, by the name of its request."""
        return self.folder / f"evaluation-{request}.json"

    def neighbours(self, features: str, k: int, num_samples: int) -> Path:
        """What a search for neighbours found."""
        return self.folder / f"neighbours-{_part_of_name(features)}-{k}-{num_samples}.npz"

    def nearest_samples(self, features: str, num_samples: int) -> Path:
        """What a search for the samples nearest to each record found."""
        return self.folder / f"neighbours-of-records-{_part_of_name(features)}-{num_samples}.npz"

    def kept_records(self) -> Records | None:
        """The samples made so far, or None."""
        return read_records(self.file) if self.file.exists() else None

    def dataset(self) -> "Dataset":
        """The records that the samples are measured against; refused where its folder or file holds others by now."""
        return self.same_records(self.place.load(self.facts, self.workspace))

    def same_records(self, dataset: "Dataset") -> "Dataset":
        """`dataset`, if its records are those that these samples belong to: measures and neighbours would speak of others."""
        if dataset.fingerprint(self.workspace.key) != self.fingerprint:
            raise WorkbenchError(
                f"The records of {self.place.text} are no longer those that {self.noun} {self.owner} was made for. Start a new {self.noun}."
            )
        return dataset


def _part_of_name(features: str) -> str:
    """A feature space's name as a part of a file's: that of a network's file by its digest."""
    return features if features.isidentifier() else hashlib.sha256(features.encode()).hexdigest()[:16]
