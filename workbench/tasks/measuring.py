"""Tasks about sets of samples: draw them, measure them, search the records that lie nearest to them."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import choose
from workbench.jobs.job import Job, Terms
from workbench.jobs.lifecycle import Jobs
from workbench.runs.finished import DEFAULT_NEIGHBOURS
from workbench.runs.samples.request import MOST_DRAWN
from workbench.seeds import Seed
from workbench.tasks.base import Report, RequestedTask
from workbench.workspace import Workspace


class SampleSetRequest(BaseModel):
    """Which set of its owner's samples, and how many of them; None for as many as there are, or by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: str = "default"
    num_samples: int | None = Field(default=None, ge=1, le=MOST_DRAWN)


class SeveralSamplesRequest(SampleSetRequest):
    """Two samples at least: one tells nothing; and the device that networks, features and distances are computed on (None: the CPU)."""

    num_samples: int | None = Field(default=None, ge=2, le=MOST_DRAWN)
    device: str | None = None


class Measures(SeveralSamplesRequest):
    """Which measures, by name (None: all that such data allows), their seed, and the attribute that these judge by."""

    seed: Seed = 0
    metrics: tuple[str, ...] | None = None
    attribute: str | None = None
    features: str | None = None


class FeaturesRequest(SeveralSamplesRequest):
    """Where distances are taken."""

    features: str = "pixels"


class DistancesRequest(FeaturesRequest):
    """What the privacy score judges by, too."""

    attribute: str | None = None


class Search(DistancesRequest):
    """How many training records are kept of each sample."""

    k: int = Field(default=DEFAULT_NEIGHBOURS, ge=1)


A = TypeVar("A", bound=SampleSetRequest)
F = TypeVar("F", bound=FeaturesRequest)


class OnSamples(RequestedTask[A]):
    """A task about a finished run's samples, or an import's."""

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with its number of samples; refuses a run that is not finished, an unknown set and unknown names."""
        from workbench.evaluation.device import chosen_device
        from workbench.runs.samples import sample_set

        typed_request = self.parse_request(request)
        self.check_names(typed_request)
        samples = sample_set(workspace, owner, typed_request.samples)
        samples.check_ready()
        self.check_kind(typed_request, samples.facts.kind.name)
        count = self.count(samples) if typed_request.num_samples is None else typed_request.num_samples
        samples.check_number(count)
        typed_request = typed_request.model_copy(
            update={"num_samples": count}
            | ({"device": chosen_device(typed_request.device)} if isinstance(typed_request, SeveralSamplesRequest) else {})
        )
        return typed_request.model_dump(mode="json")

    def register(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> Job:
        """The job of this request, which waits for its device."""
        checked = self.check(workspace, owner, request)
        terms = self.terms.model_copy(update={"device": checked.get("device") or "cpu"})
        return Jobs(workspace).register(self.name, owner, checked, terms)

    def count(self, samples: Any) -> int:
        """How many samples are meant where no number is asked for."""
        return samples.default_num_samples

    def check_names(self, request: A) -> None:
        """Refuse names that no registry knows."""

    def check_kind(self, request: A, kind: str) -> None:
        """Refuse what takes no data of this kind."""


class Sample(OnSamples[SampleSetRequest]):
    """Draws samples: those of the set that are not there yet."""

    name: ClassVar[str] = "sample"
    terms: ClassVar[Terms] = Terms(title="sampling")
    Request = SampleSetRequest

    def carry_out(self, workspace: Workspace, owner: str, request: SampleSetRequest, report: Report) -> None:
        """A sampler that pays is charged before it draws."""
        from workbench.runs.samples import sample_set

        samples = sample_set(workspace, owner, request.samples)
        samples.records(request.num_samples, report)
        samples.note_cautions()  # of samples whose process was killed before it did


class Evaluate(OnSamples[Measures]):
    """Takes measures, and draws the samples for them."""

    name: ClassVar[str] = "evaluate"
    terms: ClassVar[Terms] = Terms(title="evaluation")
    Request = Measures

    def check_names(self, request: Measures) -> None:
        """The measures."""
        from workbench.evaluation import METRICS, feature_of

        for name in request.metrics or ():
            choose(name, METRICS, "metric")
        if request.features is not None:
            feature_of(request.features)

    def check_kind(self, request: Measures, kind: str) -> None:
        """The feature space."""
        from workbench.evaluation import check_feature_kind

        if request.features is not None:
            check_feature_kind(request.features, kind)

    def carry_out(self, workspace: Workspace, owner: str, request: Measures, report: Report) -> None:
        """Kept beside the samples."""
        from workbench.runs.finished import evaluate_run

        chosen = (request.samples, request.attribute, request.features, request.device)
        evaluate_run(workspace, owner, request.num_samples, request.seed, request.metrics, report, *chosen)


class OnDistances(OnSamples[F]):
    """A task that takes distances in a feature space."""

    def check_names(self, request: F) -> None:
        """The feature space."""
        from workbench.evaluation import feature_of

        feature_of(request.features)

    def check_kind(self, request: F, kind: str) -> None:
        """The feature space."""
        from workbench.evaluation import check_feature_kind

        check_feature_kind(request.features, kind)


class OnKeptSamples(OnDistances[F]):
    """A task that takes as many samples as there are."""

    def count(self, samples: Any) -> int:
        """As many as there are."""
        return samples.default_num_samples if (kept := samples.kept_records()) is None else len(kept)


class Neighbours(OnKeptSamples[Search]):
    """Searches the nearest training and held-out records of every sample, and says what they tell of copying."""

    name: ClassVar[str] = "neighbours"
    terms: ClassVar[Terms] = Terms(title="search for neighbours")
    Request = Search

    def carry_out(self, workspace: Workspace, owner: str, request: Search, report: Report) -> None:
        """Kept beside the samples."""
        from workbench.evaluation.device import measuring_on
        from workbench.runs.finished import copying_run, neighbours_run

        space, count, samples = request.features, request.num_samples, request.samples
        with measuring_on(request.device):
            neighbours_run(workspace, owner, space, request.k, count, lambda share: report(0.7 * share), samples)
            copying_run(workspace, owner, space, count, lambda share: report(0.7 + 0.3 * share), samples, request.attribute)


class Copies(OnDistances[DistancesRequest]):
    """Takes everything that tells of copying, and draws the samples for it."""

    name: ClassVar[str] = "copies"
    terms: ClassVar[Terms] = Terms(title="search for copies")
    Request = DistancesRequest

    def carry_out(self, workspace: Workspace, owner: str, request: DistancesRequest, report: Report) -> None:
        """Kept beside the samples."""
        from workbench.evaluation.device import measuring_on
        from workbench.runs.copies import copies_run

        with measuring_on(request.device):
            copies_run(workspace, owner, request.features, request.num_samples, report, request.samples, request.attribute)


class NearestSamples(OnKeptSamples[FeaturesRequest]):
    """Searches the nearest samples of every training and held-out record."""

    name: ClassVar[str] = "nearest-samples"
    terms: ClassVar[Terms] = Terms(title="search for the nearest samples")
    Request = FeaturesRequest

    def carry_out(self, workspace: Workspace, owner: str, request: FeaturesRequest, report: Report) -> None:
        """Kept beside the samples."""
        from workbench.evaluation.device import measuring_on
        from workbench.runs.nearest_samples import nearest_samples_run

        with measuring_on(request.device):
            nearest_samples_run(workspace, owner, request.features, request.num_samples, report, request.samples)
