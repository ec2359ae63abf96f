"""Recipes: the exact configuration behind every number that the README shows, as JSON files that one command runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError, first_complaint
from workbench.plan import Plan
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.recipes.directions import Comparison
from workbench.recipes.probes import AnyProbe
from workbench.request import Request
from workbench.runs.samples.request import SamplesRequest

FOLDER = Path(__file__).parent


class RecipeRun(BaseModel):
    """One line of a recipe: what to train, how often, and with how many samples to measure it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="What the line is called in the table.")
    method: str = Field(description="The name of a method; `workbench methods` lists them.")
    dataset: str | DatasetRef = Field(description="A name, a path, or an object with either and how it is read.")
    dataset_name: str | None = Field(default=None, description="The name of one's own files, as --name.")
    resize: str | None = Field(default=None, description="C,H,W, as --resize.")
    classes: str | None = Field(default=None, description="Names of the classes of one's own files, as --classes.")
    split_seed: int = Field(default=0, ge=0, description="As --split-seed.")
    declared: str | None = Field(default=None, description="What is public of the columns of one's own table, as --declared.")
    held_out: str | None = Field(default=None, description="A file with the held-out rows of one's own table, as --held-out.")
    label: str | None = Field(default=None, description="The attribute whose values are the classes, or several, as --label.")
    epsilon: float | None = Field(default=None, gt=0, description="As --epsilon.")
    delta: float | None = Field(default=None, gt=0, lt=1, description="As --delta.")
    preset: str = Field(default="default", description="As --preset.")
    target: Literal["bound", "claim"] = Field(default="bound", description="What `epsilon` is: the proved bound, or the paper's claim.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Fields of the configuration, by dotted name.")
    performance: dict[str, Any] = Field(default_factory=dict, description="Settings that change speed and not the guarantee.")
    repeats: int = Field(default=1, ge=1, description="Independent runs; each draws its own noise.")
    seeds: tuple[int, ...] = Field(default=(), description="In the place of repeats: one seeded, not releasable run each.")
    num_samples: int | None = Field(default=None, ge=2, description="How many samples are measured; the default of `evaluate` if empty.")
    sampling: dict[str, Any] = Field(default_factory=dict, description="Fields that samples are drawn by, in the place of the plan's.")
    labels: tuple[str, ...] = Field(default=(), description="Classes to draw, in turn; all by default.")
    balanced: bool = Field(default=False, description="All classes in turn, of a method that would draw them in released shares.")
    sampling_seed: int | None = Field(default=None, ge=0, description="Draws the samples, as --seed of `sample`.")
    metrics: tuple[str, ...] | None = Field(default=None, description="Measures to take, as --metric; the defaults of `evaluate` if empty.")
    attribute: str | None = Field(default=None, description="What privacy score and accuracies judge by, as --attribute.")
    features: str | None = Field(default=None, description="Where distances are taken, as --features.")
    audit: AuditDesign | None = Field(default=None, description="Canaries to measure a lower bound by, as --audit-canaries.")
    probe: AnyProbe | None = Field(default=None, description="What is asked of its records in the place of measures of its samples.")

    @property
    def measures_key(self) -> str:
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

    def samples_key(self, samples: SamplesRequest) -> str:
        """What tells the line from others that are measured on the same run: the set of samples, or what is asked in its place."""
        return samples.id if self.probe is None else self.probe.model_dump_json()

    @classmethod
    def of(cls, name: str, request: Request, **fields: Any) -> Self:
        """The line called `name` that asks for `request`; `fields` are the line's others."""
        values = request.model_dump(mode="json", exclude_defaults=True)
        place = request.place.name if request.place.is_plain else request.place
        return cls.model_validate({"name": name, **values, "dataset": place, **fields})


class Recipe(BaseModel):
    """A title, a sentence, and the runs to make; with a `comparison`, the question that they answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field(description="The heading of its page of results.")
    description: str = Field(default="", description="What is run and why, below the heading.")
    measure: str = Field(default="accuracy_logistic_regression", description="What its table and picture show.")
    side_by_side: bool = Field(
        default=False, description="All measures of lines of one table, in a table of their own beside real and simple rows."
    )
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
    def seeded_runs(self) -> list[tuple[RecipeRun, int | None]]:
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


def _find(name_or_path: str) -> Path:
    path = Path(name_or_path)
    if path.is_file():
        return path
    if name_or_path in recipe_names():
        return FOLDER / f"{name_or_path}.json"
    raise WorkbenchError(f"Unknown recipe {name_or_path!r}. Give a file, or one of: {', '.join(recipe_names()) or 'none'}.")
