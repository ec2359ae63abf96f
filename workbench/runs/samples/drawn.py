"""A finished run's sets of samples: drawn from the same weights, each by its own request, kept in the run's folder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.evaluation.prior_likeness import COMPARED, prior_likeness
from workbench.files import make_private_folder, write_text_atomically
from workbench.locks import locked
from workbench.methods.protocols import BoundedInTerms, Classifying, Denoising, VariationallyBounded
from workbench.plan import SamplingPlan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.sample_files import read_records, write_records
from workbench.runs.samples import cautions
from workbench.runs.samples.drawing import Drawing
from workbench.runs.samples.request import DEFAULT, MOST_DRAWN, SamplesRequest, check_set_id
from workbench.runs.samples.sets import ProgressFunction, SampleSet
from workbench.runs.store import RunStore
from workbench.runs.trained import load_state, public_dataset, trained_run
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset
    from workbench.evaluation.context import Bits, Classes, Terms
    from workbench.models.denoising import Denoiser


class RunSamples(SampleSet):
    """The samples of a finished run by one request; a request that was not made before is kept with the first draw."""

    def __init__(self, workspace: Workspace, run: Run, request: SamplesRequest) -> None:
        self.workspace, self.run, self.request = workspace, run, request
        self.owner, self.id = run.id, request.id
        self.facts, self.place, self.fingerprint = run.plan.facts, run.plan.request.place, run.fingerprint
        self._run_folder = RunFolder(workspace, run.id)
        self.folder = _folder_of(self._run_folder, self.id)
        self._drawing = Drawing(workspace, run, request)

    @property
    def title(self) -> str:
        """The run with its marks, and what was asked for if it was not what was planned."""
        words = [f"Run {self.run.id}: {self.run.method} on {self.run.dataset}"]
        return ", ".join(words + ["claim only"] * self.claim_only + [self.summary] * (self.id != DEFAULT))

    @property
    def summary(self) -> str:
        """What was asked for."""
        return self.request.summary(self.facts.classes)

    @property
    def bound(self) -> PrivacyValue:
        """The run's bound, which holds for training and all its sampling together."""
        return RunStore(self.workspace).get(self.owner).bound

    @property
    def releasable(self) -> bool:
        """As the run."""
        return RunStore(self.workspace).get(self.owner).may_be_released

    @property
    def release_reason(self) -> str:
        """As the run."""
        return RunStore(self.workspace).get(self.owner).release_reason

    @property
    def claim_only(self) -> bool:
        """As the run."""
        return self.run.claim_only

    def check_ready(self) -> None:
        """Refuse a run that is not finished."""
        trained_run(self.workspace, self.owner)

    def bound_with(self, num_samples: int) -> PrivacyValue | None:
        """By the sampler's plan."""
        price = self.plan(num_samples)
        return price.bound if price.releases else None

    @property
    def default_num_samples(self) -> int:
        """As many as the plan says."""
        return self.run.plan.num_samples

    @property
    def evaluation(self) -> Path:
        """The evaluation made last; that of the default set stands in the run's own folder."""
        return self._run_folder.evaluation if self.id == DEFAULT else super().evaluation

    def records(self, num_samples: int | None = None, progress: ProgressFunction | None = None) -> Records:
        """The first `num_samples` samples, labels in turn or as the model draws them; `progress` gets 0..1.

        A sampler that touches private records charges the ledger first and raises the run's bound.
        """
        self.check_ready()
        wanted = self._wanted_number(num_samples)
        with locked(self._run_folder.samples / "lock"):
            kept = self.kept_records()
            if lacking := kept is None or len(kept) < wanted:
                self.begin()
                for drawn in self._drawing.parts(0 if kept is None else len(kept), wanted, "model", progress):
                    kept = drawn if kept is None else kept.followed_by(drawn)
                    write_records(kept, self.file, self.notes(), self.facts)
        assert kept is not None
        if lacking:
            self.note_cautions()
        return kept.take(slice(0, wanted))

    def note_cautions(self) -> None:
        """How much of the samples is noise, once, and how alike at most the first 300 are to the prior: the more, the surer it is."""
        kept = self.kept_records()
        if (
            kept is not None
            and cautions.kept_noise(self.folder) == (None, None, None)
            and (shares := self._drawing.noise_shares()) is not None
        ):
            cautions.keep_noise(self.folder, shares)
        if kept is None or not self._drawing.method.has_public_model or not cautions.is_due(self.folder, len(kept)):
            return
        compared = kept.take(slice(0, COMPARED))
        cautions.keep(self.folder, prior_likeness(compared, self._drawing.prior(len(compared)), self.facts), len(compared))

    @property
    def cautions(self) -> tuple[str, ...]:
        """Of shares of classes, public images that were chosen, a prior that samples look like, noise, and what cannot be in them."""
        return cautions.of_samples(self.run.plan, self.request, self.kept_records(), cautions.kept(self.folder))

    def public_records(self, num_samples: int, progress: ProgressFunction | None = None) -> Records | None:
        """Samples of the model before it saw a private record (epsilon 0), by the same request."""
        self.check_ready()
        if not self._drawing.method.has_public_model:
            return None
        path = self.folder / "public.npz"
        with locked(self._run_folder.samples / "lock"):
            kept = read_records(path) if path.exists() else None
            if kept is None or len(kept) < num_samples:
                self.begin()
                for drawn in self._drawing.parts(0 if kept is None else len(kept), num_samples, "public", progress):
                    kept = drawn if kept is None else kept.followed_by(drawn)
                    notes = {"run": self.owner, "source": "public records only", "epsilon": 0.0, "releasable": True}
                    write_records(kept, path, notes, self.facts)
        assert kept is not None
        return kept.take(slice(0, num_samples))

    def bits(self) -> "Bits | None":
        """By the run's weights, which are loaded when it is asked."""
        method = self._drawing.method
        if not isinstance(method, VariationallyBounded):
            return None
        return lambda records, seed: method.bits_per_dimension(load_state(self.workspace, self.run), records, seed)

    def classes(self) -> "Classes | None":
        """By the run's weights, which are loaded when it is asked."""
        method = self._drawing.method
        if not isinstance(method, Classifying):
            return None
        return lambda records: method.classify(load_state(self.workspace, self.run), records)

    def terms(self) -> "Terms | None":
        """By the run's weights, which are loaded when they are asked."""
        method = self._drawing.method
        if not isinstance(method, BoundedInTerms):
            return None
        return lambda records, seed: method.bound_terms(load_state(self.workspace, self.run), records, seed)

    def denoiser(self) -> "Callable[[], Denoiser] | None":
        """By the run's weights, which are loaded when it is asked."""
        method = self._drawing.method
        if not isinstance(method, Denoising):
            return None
        return lambda: method.denoiser(load_state(self.workspace, self.run, seed=0))

    def public_dataset(self) -> "Dataset | None":
        """The one that the run was pre-trained on, or its dataset's companion."""
        return public_dataset(self.workspace, self.run)

    def notes(self) -> dict[str, Any]:
        """The run, the set's request, bound, claim, and whether the samples may leave the room."""
        run = RunStore(self.workspace).get(self.owner)
        return {
            "run": run.id,
            "samples": self.id,
            "request": self.request,
            "method": run.method,
            "dataset": self.facts.name,
            "bound": run.bound,
            "claim": run.claim,
            "claim_only": run.claim_only,
            "releasable": run.releasable,
            "cautions": self.cautions,
        }

    def plan(self, num_samples: int | None = None) -> SamplingPlan:
        """What it costs to have `num_samples` samples, beyond those that there are. No record is touched."""
        wanted, kept = self._wanted_number(num_samples), self.kept_records()
        return self._drawing.plan(min(wanted, 0 if kept is None else len(kept)), wanted)

    def _wanted_number(self, num_samples: int | None) -> int:
        wanted = self.default_num_samples if num_samples is None else num_samples
        if not 1 <= wanted <= MOST_DRAWN:
            raise WorkbenchError(f"Expected 1 to {MOST_DRAWN} samples, got {wanted}.")
        return wanted

    def begin(self) -> None:
        """Make the set's folder and write down what was asked for, by which the set's id is known from then on."""
        if self.id != DEFAULT:
            make_private_folder(self.folder)
            write_text_atomically(_request_file(self.folder), self.request.text)


def request_samples(
    workspace: Workspace,
    run_id: str,
    settings: Mapping[str, Any] | None = None,
    labels: Sequence[str] = (),
    seed: int | None = None,
    *,
    balanced: bool = False,
) -> RunSamples:
    """The set of a run's samples that a request asks for, whether there are any yet or not."""
    run = RunStore(workspace).get(run_id)
    return RunSamples(workspace, run, SamplesRequest.of(run.plan, settings, labels, seed, balanced=balanced))


def set_of(workspace: Workspace, run_id: str, samples: str = DEFAULT) -> RunSamples:
    """The set of a run's samples by its id; an unknown one lists those that there are."""
    run = RunStore(workspace).get(run_id)
    if check_set_id(samples) == DEFAULT:
        return RunSamples(workspace, run, SamplesRequest())
    path = _request_file(_folder_of(RunFolder(workspace, run_id), samples))
    if not path.exists():
        known = ", ".join(other.id for other in sets_of(workspace, run_id)) or "none"
        raise WorkbenchError(f"Run {run_id} has no set of samples {samples!r}. Choose one of: {known}; `workbench sample` makes others.")
    return RunSamples(workspace, run, SamplesRequest.parse(path.read_text(), path))


def sets_of(workspace: Workspace, run_id: str) -> Iterator[RunSamples]:
    """The sets of a run that have samples, the default one first, then in order of their making."""
    run, folder = RunStore(workspace).get(run_id), RunFolder(workspace, run_id)
    files = sorted(folder.samples.glob(f"*/{_request_file(Path()).name}"), key=lambda path: path.stat().st_mtime)
    requests = [SamplesRequest(), *(SamplesRequest.parse(path.read_text(), path) for path in files)]
    for samples in (RunSamples(workspace, run, request) for request in requests):
        if samples.file.exists():
            yield samples


def _folder_of(folder: RunFolder, samples: str) -> Path:
    """Where a set lies: the default one beside the others' folders."""
    return folder.samples if samples == DEFAULT else folder.samples / samples


def _request_file(folder: Path) -> Path:
    return folder / "request.json"
