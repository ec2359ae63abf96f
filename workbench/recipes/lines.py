"""Recipes: the exact configuration behind every number that the README shows, as JSON files that one command runs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError, choose, first_complaint
from workbench.jobs.job import RESUMABLE
from workbench.plan import Plan
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.recipes.directions import Comparison
from workbench.recipes.probes import AnyProbe
from workbench.request import Request
from workbench.runs.run import Run
from workbench.runs.samples.request import SamplesRequest
from workbench.serialization import jsonable
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.training.state import PerformanceSettings

FOLDER = Path(__file__).parent


class RecipeRun(BaseModel):
    """One line of a recipe: what to train, how often, and with how many samples to measure it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="What the line is called in the table.")
    method: str
    dataset: str | DatasetRef = Field(description="A name, a path, or an object with either and how it is read.")
    dataset_name: str | None = Field(default=None, description="The name of one's own files, as --name.")
    resize: str | None = Field(default=None, description="C,H,W, as --resize.")
    classes: str | None = Field(default=None, description="Names of the classes of one's own files, as --classes.")
    split_seed: int = Field(default=0, ge=0, description="As --split-seed.")
    declared: str | None = Field(default=None, description="What is public of the columns of one's own table, as --declared.")
    held_out: str | None = Field(default=None, description="A file with the held-out rows of one's own table, as --held-out.")
    label: str | None = Field(default=None, description="The attribute whose values are the classes, or several, as --label.")
    epsilon: float | None = Field(default=None, gt=0)
    delta: float | None = Field(default=None, gt=0, lt=1)
    preset: str = "default"
    target: Literal["bound", "claim"] = "bound"
    settings: dict[str, Any] = Field(default_factory=dict, description="Fields of the configuration, by dotted name.")
    performance: dict[str, Any] = Field(default_factory=dict)
    repeats: int = Field(default=1, ge=1, description="Independent runs; each draws its own noise.")
    seeds: tuple[int, ...] = Field(default=(), description="In the place of repeats: one seeded, not releasable run each.")
    num_samples: int | None = Field(default=None, ge=2)
    sampling: dict[str, Any] = Field(default_factory=dict, description="Fields that samples are drawn by, in the place of the plan's.")
    labels: tuple[str, ...] = Field(default=(), description="Classes to draw, in turn; all by default.")
    balanced: bool = Field(default=False, description="All classes in turn, of a method that would draw them in released shares.")
    sampling_seed: int | None = Field(default=None, ge=0)
    metrics: tuple[str, ...] | None = None
    attribute: str | None = Field(default=None, description="What privacy score and accuracies judge by, as --attribute.")
    features: str | None = Field(default=None, description="Where distances are taken, as --features.")
    audit: AuditDesign | None = Field(default=None, description="Canaries to measure a lower bound by, as --audit-canaries.")
    probe: AnyProbe | None = Field(default=None, description="What is asked of its records in the place of measures of its samples.")

    @property
    def judged(self) -> str:
        """What else tells it from lines that measure the same samples of the same run."""
        return f"{self.attribute or ''}, {self.features or ''}"

    @property
    def all_seeds(self) -> Sequence[int | None]:
        """A seed a run; None draws the noise key from the operating system."""
        return self.seeds or (None,) * self.repeats

    @property
    def request(self) -> Request:
        """What the line asks for."""
        place = self.dataset
        if isinstance(place, str):
            place = DatasetRef.parse(
                place,
                self.dataset_name,
                self.resize,
                self.classes,
                self.split_seed,
                self.label,
                declared=self.declared,
                held_out=self.held_out,
            )
        fields = {name: getattr(self, name) for name in Request.model_fields}
        return Request.of(**{**fields, "dataset": place})

    def samples(self, plan: Plan) -> SamplesRequest:
        """Which set of a run of `plan` the line measures."""
        return SamplesRequest.of(plan, self.sampling, self.labels, self.sampling_seed, balanced=self.balanced)

    def asked(self, samples: SamplesRequest) -> str:
        """What tells the line from others that are measured on the same run: the set of samples, or what is asked in its place."""
        return samples.id if self.probe is None else self.probe.model_dump_json()

    @classmethod
    def of(cls, name: str, request: Request, **fields: Any) -> Self:
        """The line called `name` that asks for `request`; `fields` are the line's others."""
        asked = request.model_dump(mode="json", exclude_defaults=True)
        place = request.place.name if request.place.is_plain else request.place
        return cls.model_validate({"name": name, **asked, "dataset": place, **fields})


class Recipe(BaseModel):
    """A title, a sentence, and the runs to make; with a `comparison`, the question that they answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    description: str = ""
    measure: str = Field(default="accuracy_logistic_regression", description="What its table and picture show.")
    also: tuple[str, ...] = Field(default=(), description="Further measures, which have a table of their own where `by_dataset` is set.")
    by_dataset: bool = Field(default=False, description="Whether each dataset has tables and a panel of its own.")
    published: tuple[str, ...] = Field(
        default=(), description="Measures that stand beside what others published, where `by_dataset` is set."
    )
    comparison: Comparison | None = Field(default=None, description="What is asked of its lines, each of which then has seeds.")
    runs: tuple[RecipeRun, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        if self.comparison is None:
            return self
        if unseeded := [line.name for line in self.runs if not line.seeds]:
            raise ValueError(
                f"Expected seeds of every line of a comparison, by which its results are put together, got none of {unseeded}."
            )
        if unknown := sorted(self.comparison.lines - {line.name for line in self.runs}):
            raise ValueError(f"Expected directions between the recipe's own lines, got {unknown}.")
        return self

    @property
    def seeded(self) -> list[tuple[RecipeRun, int | None]]:
        """Every run of every line, in order."""
        return [(line, seed) for line in self.runs for seed in line.all_seeds]


def load_recipe(name_or_path: str) -> Recipe:
    """A recipe from a file, or one that the workbench brings along, by name."""
    path = _find(name_or_path)
    try:
        return Recipe.model_validate_json(path.read_text())
    except ValidationError as error:
        raise WorkbenchError(f"{path} is not a recipe: {first_complaint(error)}") from None


def recipe_names() -> list[str]:
    """The names of the recipes that the workbench brings along: the JSON files beside this module, and those of comparisons/."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.json"))


def reproduce(
    recipe: Recipe,
    workspace: Workspace,
    reuse: bool = False,
    progress: Callable[[float], None] | None = None,
    known: Collection[tuple[str, int | None]] = (),
) -> Iterator[dict[str, Any]]:
    """Plan, train, sample and evaluate every run of a recipe in order (of a comparison seed by seed); one plain dict a run, once measured.

    Keys: `name`, `method`, `run`, `seed`, `claim`, `bound`, `seconds` and `peak_bytes` (training), `drawing_seconds` (of
    the samples, None if not noted), `environments` (of its attempts), `evaluation`, and `audit` of a line with canaries. `reuse` takes runs
    with the same plan, dataset, seed, canaries and performance settings, each once, in the place of new ones: finished ones, else
    those at work, else ones to go on with. Lines that ask for the same run and other samples of it, or to be judged by another
    attribute or in other features, share one. A run that fails ends the recipe with its error.
    `known` are names of lines with the seeds whose results are there already: these are left out.
    """
    check(recipe, workspace)
    lines = [(line, seed) for line, seed in _in_turn(recipe) if (line.name, seed) not in known]
    used: dict[str, set[tuple[str, str]]] = {}
    for number, (line, seed) in enumerate(lines):
        result = _make(workspace, line, seed, used, reuse, _part(progress, number, len(lines)))
        used.setdefault(result["run"], set()).add((result["evaluation"]["samples"], line.judged))
        yield result


def _in_turn(recipe: Recipe) -> list[tuple[RecipeRun, int | None]]:
    """The runs line by line; of a comparison seed by seed, so that what is there after a break can be compared."""
    if recipe.comparison is None:
        return recipe.seeded
    return sorted(recipe.seeded, key=lambda pair: pair[0].all_seeds.index(pair[1]))


def check(recipe: Recipe, workspace: Workspace) -> None:
    """Refuse names and files that would stop the recipe only when a line before has been trained."""
    from workbench.evaluation import METRICS, check_feature_kind
    from workbench.planning import make_plan
    from workbench.training.state import PerformanceSettings

    for name in (recipe.measure, *recipe.also, *recipe.published):
        choose(name, METRICS, "metric")
    for line in recipe.runs:
        facts = line.request.facts(workspace)
        check_feature_kind(line.features or "pixels", facts.kind.name)
        PerformanceSettings.parse(line.performance).torch_device()
        if line.sampling or line.labels:
            line.samples(make_plan(line.request, facts))
        known = METRICS if line.probe is None or line.probe.measures is None else line.probe.measures
        for name in line.metrics or ():
            choose(name, known, "metric")


def _make(
    workspace: Workspace,
    line: RecipeRun,
    seed: int | None,
    used: Mapping[str, Set[tuple[str, str]]],
    reuse: bool,
    progress: Callable[[float], None],
) -> dict[str, Any]:
    """One result. `used` are the runs that lines before were measured on, with the sets, or what was asked, and how each was judged."""
    from workbench.runs import audits

    run, samples = _trained(workspace, line, seed, used, reuse, lambda share: progress(0.8 * share))
    evaluation = _measured(workspace, line, run, samples, lambda share: progress(0.8 + 0.2 * share))
    told = _told(workspace, run.id) | ({} if line.probe is None else {"bound": jsonable(line.probe.bound(run))})
    audit = {} if line.audit is None else {"audit": jsonable(audits.audit_run(workspace, run.id))}
    return {"name": line.name, "method": line.method, **told, "evaluation": evaluation, **audit}


def _measured(
    workspace: Workspace, line: RecipeRun, run: Run, samples: SamplesRequest, progress: Callable[[float], None]
) -> dict[str, Any]:
    """What the line asks of its finished run: what a probe finds of the records, else measures of the samples."""
    from workbench.runs import finished
    from workbench.runs.samples.drawn import RunSamples

    if line.probe is not None:
        found = line.probe.results(workspace, run, line.metrics or (), line.num_samples)
        return {"run": run.id, "samples": line.asked(samples), "results": jsonable(found)}
    RunSamples(workspace, run, samples).begin()
    judged: dict[str, Any] = {"attribute": line.attribute, "features": line.features}
    return finished.evaluate_run(workspace, run.id, line.num_samples, metrics=line.metrics, progress=progress, samples=samples.id, **judged)


def _trained(
    workspace: Workspace,
    line: RecipeRun,
    seed: int | None,
    used: Mapping[str, Set[tuple[str, str]]],
    reuse: bool,
    progress: Callable[[float], None],
) -> tuple[Run, SamplesRequest]:
    """A finished run of the line, and which set of its samples is measured."""
    from workbench import experiment, runs
    from workbench.training.state import PerformanceSettings

    request = line.request
    dataset = request.place.load(workspace=workspace)
    plan = experiment.make_plan(request, dataset.facts)
    performance = PerformanceSettings.parse(line.performance)
    samples = line.samples(plan)
    free = {run for run, measured in used.items() if (line.asked(samples), line.judged) not in measured}
    alike = _alike(workspace, plan, (dataset.fingerprint(workspace.key), seed, line.audit), performance)
    run = _usable([run for run in alike if run.id in free or (reuse and run.id not in used)])
    if run is None:
        run = runs.launch(workspace, plan, performance=performance, seed=seed, loaded=dataset, audit=line.audit)
    elif run.state in RESUMABLE:
        runs.resume(workspace, run.id)
    run = runs.wait(workspace, run.id, progress=lambda now: progress(now.share))
    if run.state != "done":
        raise WorkbenchError(f"Run {run.id} of {line.name!r} is {run.state}: {run.error or 'it was stopped'}")
    return run, samples


def _told(workspace: Workspace, run_id: str) -> dict[str, Any]:
    """What a result says of its run, once its samples are drawn: the numbers of the plan, times, memory, environments."""
    from workbench.runs.folder import RunFolder
    from workbench.runs.store import RunStore

    run, folder = RunStore(workspace).get(run_id), RunFolder(workspace, run_id)
    values = {
        "run": run.id,
        "seed": run.seed,
        "claim": run.claim,
        "bound": run.bound,
        "seconds": run.seconds_running,
        "drawing_seconds": folder.drawing_seconds(),
        "peak_bytes": folder.peak_bytes(),
        "environments": folder.environments(),
    }
    return jsonable(values)


def _alike(
    workspace: Workspace, plan: Plan, data: tuple[str, int | None, AuditDesign | None], performance: "PerformanceSettings"
) -> "list[Run]":
    """The runs of the same plan, `data` (fingerprint of the records, seed, canaries) and performance, newest first."""
    from workbench.runs.store import RunStore

    found = [run for run in RunStore(workspace).list(method=plan.method) if (run.fingerprint, run.seed, run.audit) == data]
    return [run for run in found if run.plan.does_the_same_as(plan) and type(performance).model_validate(run.performance) == performance]


def _usable(runs: "Sequence[Run]") -> "Run | None":
    """The oldest finished run, else the oldest at work, else the oldest to go on with, else None."""
    at_work = ("running", "starting", "queued")
    for states in (("done",), at_work, RESUMABLE):
        usable = [run for run in runs if run.state in states]
        if usable:
            return usable[-1]
    return None


def _part(progress: Callable[[float], None] | None, number: int, count: int) -> Callable[[float], None]:
    return lambda share: None if progress is None else progress((number + share) / count)


def _find(name_or_path: str) -> Path:
    path = Path(name_or_path)
    if path.is_file():
        return path
    if name_or_path in recipe_names():
        return FOLDER / f"{name_or_path}.json"
    raise WorkbenchError(f"Unknown recipe {name_or_path!r}. Give a file, or one of: {', '.join(recipe_names()) or 'none'}.")
