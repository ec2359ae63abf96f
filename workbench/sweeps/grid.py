"""What a sweep asks for: methods x epsilons x settings x seeds, as the lines of a recipe."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError, choose, first_complaint
from workbench.privacy.accounting.values import Target
from workbench.recipes.lines import Recipe, RecipeRun
from workbench.request import Request

MOST_RUNS = 1000
MEASURES = {"image": "frechet_distance", "table": "two_way_marginals"}  # what a table shows where there are no classes
CLASSES = "accuracy_logistic_regression"
OF_METHOD = ":"  # dp-merf:training.steps=100 is a setting of one method alone


class Grid(BaseModel):
    """Every method at every epsilon with every combination of settings, `repeats` times, or once a seed.

    `settings` has the values of each field of a configuration by dotted name; `METHOD:` before the name leaves the other methods as
    they are. An epsilon of None leaves what the method configures; `target` says what the others are. `metrics` None takes all that
    need not be named.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    methods: tuple[str, ...] = Field(min_length=1)
    dataset: DatasetRef
    epsilons: tuple[float | None, ...] = Field(default=(None,), min_length=1)
    settings: dict[str, tuple[Any, ...]] = {}
    seeds: tuple[int, ...] = ()
    repeats: int = Field(default=1, ge=1)
    delta: float | None = None
    target: Target = "bound"
    preset: str = "default"
    public: str | None = None
    metrics: tuple[str, ...] | None = None
    num_samples: int | None = Field(default=None, ge=2)
    performance: dict[str, Any] = {}

    @classmethod
    def of(cls, **values: Any) -> Self:
        """The grid of these fields; WorkbenchError says what is wrong with them."""
        try:
            made = cls.model_validate(values)
        except ValidationError as error:
            raise WorkbenchError(f"The sweep cannot be planned. {first_complaint(error)}") from None
        if made.seeds and made.repeats > 1:
            raise WorkbenchError(
                f"Expected seeds or repeats, got {len(made.seeds)} seeds and {made.repeats} repeats. Leave one of them out."
            )
        return made

    def recipe(self, title: str = "") -> Recipe:
        """The recipe: a line a method, epsilon and combination of settings. Every line is checked as a request is."""
        if (number := self.count()) > MOST_RUNS:
            raise WorkbenchError(f"Expected at most {MOST_RUNS} runs in a sweep, got {number}. Ask for several sweeps.")
        lines = tuple(self._lines())
        names = self.metrics or (self._usual_measure(),)
        return Recipe(title=title or f"Sweep on {self.dataset.text}", measure=names[0], also=names[1:], runs=lines)

    def count(self) -> int:
        """How many runs it has."""
        each = len(self.seeds) or self.repeats
        return sum(len(set(self.epsilons)) * each * len(list(self._combinations(method))) for method in dict.fromkeys(self.methods))

    def _usual_measure(self) -> str:
        facts = self.dataset.facts()
        return CLASSES if facts.classes else MEASURES.get(facts.kind.name, "frechet_distance")

    def _lines(self) -> Iterator[RecipeRun]:
        given: dict[str, Any] = {"metrics": self.metrics, "num_samples": self.num_samples, "performance": self.performance}
        given |= {"seeds": self.seeds} if self.seeds else {"repeats": self.repeats}
        for method in dict.fromkeys(self.methods):
            for epsilon, settings in product(dict.fromkeys(self.epsilons), self._combinations(method)):
                yield RecipeRun.of(self._name(method, epsilon, settings), self._request(method, epsilon, settings), **given)

    def _name(self, method: str, epsilon: float | None, settings: Mapping[str, Any]) -> str:
        """A line's name, which tells it from every other of its sweep, and a claimed epsilon from a bound."""
        at = [] if epsilon is None else [f"{'claimed ' if self.target == 'claim' else ''}epsilon {epsilon:g}"]
        return ", ".join([method, *at, *(f"{name} {_word(value)}" for name, value in settings.items())])

    def _request(self, method: str, epsilon: float | None, settings: Mapping[str, Any]) -> Request:
        from workbench.planning import with_public

        beside: dict[str, Any] = {"preset": self.preset, "delta": self.delta, "target": self.target}
        request = Request.of(method, self.dataset, epsilon=epsilon, settings=settings, **beside)
        return with_public(request, self.public) if self.public else request

    def _combinations(self, method: str) -> Iterator[dict[str, Any]]:
        """Every combination of the settings that a method takes, one value a field."""
        own = {}
        for full, values in self.settings.items():
            of, separator, name = full.rpartition(OF_METHOD)
            if separator:
                choose(of, dict.fromkeys(self.methods), "method of this sweep")
            if not separator or of == method:
                own[name] = list({json.dumps(value): value for value in values}.values())
        for values in product(*own.values()):
            yield dict(zip(own, values, strict=True))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def numbers(text: str, what: str) -> tuple[float, ...]:
    """Numbers between commas; WorkbenchError names what is none."""
    try:
        values = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        values = ()
    if not values:
        raise WorkbenchError(f"Expected {what} as numbers between commas, as 0.2,1,10, got {text!r}.")
    return values


def choices(texts: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """KEY=V1,V2 pairs: a value is JSON where it parses as such, else text; commas within brackets and quotes part nothing."""
    options: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, separator, values = text.partition("=")
        if not separator or not name.strip() or not values.strip():
            raise WorkbenchError(f"Expected KEY=VALUE,VALUE, got {text!r}.")
        if name.strip() in options:
            raise WorkbenchError(f"Expected all values of {name.strip()} together, as {name.strip()}=1,2, got it twice.")
        options[name.strip()] = tuple(_parsed_value(part) for part in _parts(values))
    return options


def _parts(text: str) -> Iterator[str]:
    depth, quoted, start = 0, False, 0
    for place, letter in enumerate(text):
        quoted ^= letter == '"'
        depth += (letter in "[{") - (letter in "]}") if not quoted else 0
        if letter == "," and not quoted and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _parsed_value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
