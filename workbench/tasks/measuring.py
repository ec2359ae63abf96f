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
from workbench.tasks.base import Report, Requested
from workbench.workspace import Workspace

LATER = ("attribute", "features", "device")  # fields that requests had not always: one without them is what it was


class Asked(BaseModel):
    """Which set of its owner's samples, and how many of them; None for as many as there are, or by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: str = "default"
    num_samples: int | None = Field(default=None, ge=1, le=MOST_DRAWN)


class Several(Asked):
    """Two samples at least: one tells nothing; and the device that networks, features and distances are computed on (None: the CPU)."""

    num_samples: int | None = Field(default=None, ge=2, le=MOST_DRAWN)
    device: str | None = None


class Measures(Several):
    """Which measures, by name (None: all that such data allows), their seed, and the attribute that these judge by."""

    seed: Seed = 0
    metrics: tuple[str, ...] | None = None
    attribute: str | None = None
    features: str | None = None


class Compared(Several):
    """Where distances are taken, and what the privacy score judges by."""

    features: str = "pixels"
    attribute: str | None = None


class Search(Compared):
    """How many training records are kept of each sample."""

    k: int = Field(default=DEFAULT_NEIGHBOURS, ge=1)


A = TypeVar("A", bound=Asked)


class OnSamples(Requested[A]):
    """A task about a finished run's samples, or an import's."""

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with its number of samples; refuses a run that is not finished, an unknown set and unknown names."""
        from workbench.evaluation.device import chosen
        from workbench.runs.samples import sample_set

        asked = self.asked(request)
        self.check_names(asked)
        found = sample_set(workspace, owner, asked.samples)
        found.check_ready()
        self.check_kind(asked, found.facts.kind.name)
        count = self.count(found) if asked.num_samples is None else asked.num_samples
        found.check_number(count)
        asked = asked.model_copy(update={"num_samples": count} | ({"device": chosen(asked.device)} if isinstance(asked, Several) else {}))
        whole = asked.model_dump(mode="json")
        return {name: value for name, value in whole.items() if name not in LATER or value}

    def register(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> Job:
        """The job of this request, which waits for its device."""
        checked = self.check(workspace, owner, request)
        terms = self.terms.model_copy(update={"device": checked.get("device", "cpu")})
        return Jobs(workspace).register(self.name, owner, checked, terms)

    def count(self, found: Any) -> int:
        """How many samples are meant where no number is asked for."""
        return found.default_num_samples

    def check_names(self, asked: A) -> None:
        """Refuse names that no registry knows."""

    def check_kind(self, asked: A, kind: str) -> None:
        """Refuse what takes no data of this kind."""


class Sample(OnSamples[Asked]):
    """Draws samples: those of the set that are not there yet."""

    name: ClassVar[str] = "sample"
    terms: ClassVar[Terms] = Terms(title="sampling")
    Request = Asked

    def carry_out(self, workspace: Workspace, owner: str, asked: Asked, report: Report) -> None:
        """A sampler that pays is charged before it draws."""
        from workbench.runs.samples import sample_set

        found = sample_set(workspace, owner, asked.samples)
        found.records(asked.num_samples, report)
        found.note_cautions()  # those that another version drew


class Evaluate(OnSamples[Measures]):
    """Takes measures, and draws the samples for them."""

    name: ClassVar[str] = "evaluate"
    terms: ClassVar[Terms] = Terms(title="evaluation")
    Request = Measures

    def check_names(self, asked: Measures) -> None:
        """The measures."""
        from workbench.evaluation import METRICS, feature_of

        for name in asked.metrics or ():
            choose(name, METRICS, "metric")
        if asked.features is not None:
            feature_of(asked.features)

    def check_kind(self, asked: Measures, kind: str) -> None:
        """The feature space."""
        from workbench.evaluation import check_feature_kind

        if asked.features is not None:
            check_feature_kind(asked.features, kind)

    def carry_out(self, workspace: Workspace, owner: str, asked: Measures, report: Report) -> None:
        """Kept beside the samples."""
        from workbench.runs.finished import evaluate_run

        chosen = (asked.samples, asked.attribute, asked.features, asked.device)
        evaluate_run(workspace, owner, asked.num_samples, asked.seed, asked.metrics, report, *chosen)


class Neighbours(OnSamples[Search]):
    """Searches the nearest training and held-out records of every sample, and says what they tell of copying."""

    name: ClassVar[str] = "neighbours"
    terms: ClassVar[Terms] = Terms(title="search for neighbours")
    Request = Search

    def count(self, found: Any) -> int:
        """As many as there are."""
        return found.default_num_samples if (kept := found.kept()) is None else len(kept)

    def check_names(self, asked: Search) -> None:
        """The feature space."""
        from workbench.evaluation import feature_of

        feature_of(asked.features)

    def check_kind(self, asked: Search, kind: str) -> None:
        """The feature space."""
        from workbench.evaluation import check_feature_kind

        check_feature_kind(asked.features, kind)

    def carry_out(self, workspace: Workspace, owner: str, asked: Search, report: Report) -> None:
        """Kept beside the samples."""
        from workbench.evaluation.device import measuring_on
        from workbench.runs.finished import copying_run, neighbours_run

        space, count, samples = asked.features, asked.num_samples, asked.samples
        with measuring_on(asked.device):
            neighbours_run(workspace, owner, space, asked.k, count, lambda share: report(0.7 * share), samples)
            copying_run(workspace, owner, space, count, lambda share: report(0.7 + 0.3 * share), samples, asked.attribute)


class Copies(OnSamples[Compared]):
    """Takes everything that tells of copying, and draws the samples for it."""

    name: ClassVar[str] = "copies"
    terms: ClassVar[Terms] = Terms(title="search for copies")
    Request = Compared

    def check_names(self, asked: Compared) -> None:
        """The feature space."""
        from workbench.evaluation import feature_of

        feature_of(asked.features)

    def check_kind(self, asked: Compared, kind: str) -> None:
        """The feature space."""
        from workbench.evaluation import check_feature_kind

        check_feature_kind(asked.features, kind)

    def carry_out(self, workspace: Workspace, owner: str, asked: Compared, report: Report) -> None:
        """Kept beside the samples."""
        from workbench.evaluation.device import measuring_on
        from workbench.runs.copies import copies_run

        with measuring_on(asked.device):
            copies_run(workspace, owner, asked.features, asked.num_samples, report, asked.samples, asked.attribute)
