"""The real MNIST files at 28x28: workbench/recipes/mnist.json. Needs the folder that WORKBENCH_DATA names."""

from pathlib import Path
from typing import Any

import pytest
from support.homes import here
from support.slow_tier import DDPM, FLOW, PRIVATE_STEP, trained_by

from workbench import datasets, evaluation, experiment
from workbench.recipes import lines as recipes
from workbench.recipes.reproducing import reproduce
from workbench.records import Records
from workbench.runs.finished import neighbours_run
from workbench.runs.samples import sample_set
from workbench.runs.store import Run, RunStore
from workbench.training.state import PerformanceSettings

NUM_SAMPLES = 10_000
NUM_UNTRAINED = 1_000  # the untrained network's samples, compared with as many of the trained one's
DP_PROMISE = [
    *FLOW,
    *DDPM,
    *PRIVATE_STEP,
    "workbench/methods/dp_promise/**",
    "workbench/evaluation/neighbours.py",
    "workbench/recipes/mnist.json",
]
DP_MERF = [
    *FLOW,
    "workbench/methods/dp_merf/*",
    "workbench/methods/embedding.py",
    "workbench/models/embeddings/*",
    "workbench/networks/generator.py",
    "workbench/recipes/mnist.json",
]


@pytest.fixture
def mnist(slow_home: Path) -> datasets.Dataset:
    """The 60 000 + 10 000 images; skips where they are not on this machine."""
    if not datasets.DATASETS["mnist"].is_local(here()):
        pytest.skip("the IDX files of MNIST are not here: set WORKBENCH_DATA to the folder that holds them")
    return datasets.load("mnist")


@pytest.mark.slow(depends=DP_MERF, trains=("mnist", "dp-merf"))
def test_dp_merf_reaches_its_accuracy_in_three_minutes(mnist: datasets.Dataset, figures: dict[str, Any]) -> None:
    result = reproduce_line("dp-merf", figures)
    figures["accuracy_cnn"] = metric(result, "accuracy_cnn")["value"]
    check_bound(result, 1.0)
    assert figures["accuracy_cnn"] >= 0.78
    assert result["seconds"] < 180


@pytest.mark.slow(depends=DP_PROMISE, trains=("mnist", "dp-promise"))
def test_dp_promise_improves_on_the_untrained_and_the_pretrained_network(mnist: datasets.Dataset, figures: dict[str, Any]) -> None:
    result = reproduce_line("dp-promise", figures)
    check_bound(result, 10.0)
    run = RunStore(here()).get(result["run"])
    plan = run.plan
    untrained = experiment.new_state(plan, PerformanceSettings.model_validate(run.performance))
    parameters = sum(parameter.numel() for parameter in untrained.modules["network"].parameters())
    samples = sample_set(here(), run.id).records(NUM_SAMPLES)
    noise = frechet_distance(experiment.sample(plan, untrained, NUM_UNTRAINED), mnist, run)
    as_many = frechet_distance(samples.take(slice(NUM_UNTRAINED)), mnist, run)
    trained = metric(result, "frechet_distance")
    neighbours = neighbours_run(here(), run.id, num_samples=NUM_SAMPLES)
    figures |= {
        "parameters": parameters,
        "private steps": run.config["phase_two"]["steps"],
        "expected batch": run.config["phase_two"]["batch_size"],
        "features": trained["features"],
        "frechet distance, trained": trained["value"],
        "frechet distance, public pre-training only": trained["epsilon_zero"],
        f"frechet distance, trained, {NUM_UNTRAINED} samples": as_many.value,
        f"frechet distance, untrained, {NUM_UNTRAINED} samples": noise.value,
        "accuracy_cnn": metric(result, "accuracy_cnn")["value"],
        "accuracy_cnn, public pre-training only": metric(result, "accuracy_cnn")["epsilon_zero"],
        "records searched for neighbours": len(mnist.train),
        "median distance to the nearest": float(sorted(neighbours.distances[:, 0])[NUM_SAMPLES // 2]),
    }
    assert parameters == pytest.approx(0.70e6, rel=0.01)
    assert run.config["phase_two"]["steps"] >= 300
    assert run.config["phase_two"]["batch_size"] == 1000
    assert (run.config["sampler"]["name"], run.config["sampler"]["num_inference_steps"]) == ("dpm-solver++", 20)
    assert noise.features == as_many.features == trained["features"]
    assert trained["value"] < trained["epsilon_zero"]
    assert as_many.value < noise.value
    assert len(mnist.train) == 60_000
    assert neighbours.indices.shape[0] == NUM_SAMPLES
    assert neighbours.indices.max() >= 50_000  # they are looked for among all records, not the first part


def reproduce_line(method: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Run the line of the recipe that trains `method`, and note how long it took and what it cost."""
    recipe = recipes.load_recipe("mnist")
    (line,) = [run for run in recipe.runs if run.method == method]
    (result,) = reproduce(recipe.model_copy(update={"runs": (line,)}), here(), reuse=True)
    figures |= {
        "trained by": trained_by([result]),
        "training seconds": result["seconds"],
        "seconds to draw the samples": result["drawing_seconds"],
        "bound": result["bound"]["epsilon"],
        "delta": result["bound"]["delta"],
    }
    assert metric(result, "frechet_distance")["num_samples"] == NUM_SAMPLES
    return result


def frechet_distance(samples: Records, mnist: datasets.Dataset, run: Run) -> evaluation.MetricResult:
    """The distance of `samples` in the features that the run is measured in."""
    public = sample_set(here(), run.id).public_dataset()
    return evaluation.evaluate(samples, mnist, public=public, metrics=["frechet_distance"], workspace=here())[0]


def metric(result: dict[str, Any], name: str) -> dict[str, Any]:
    """The result of one measure."""
    return next(row for row in result["evaluation"]["results"] if row["name"] == name)


def check_bound(result: dict[str, Any], epsilon: float) -> None:
    """A proved bound, no larger than asked for."""
    assert result["bound"]["status"] == "proved"
    assert result["bound"]["epsilon"] <= epsilon
