"""What shipped comparisons ask, held against what the papers print: their settings, and the direction that they report."""

import pytest

from workbench import datasets
from workbench.evaluation import METRICS
from workbench.evaluation.context import measures_of
from workbench.evaluation.protocols import PUBLISHED
from workbench.planning import make_plan
from workbench.published import load_published
from workbench.recipes.directions import Direction
from workbench.recipes.lines import Recipe, load_recipe


def paper_says(recipe: Recipe, measure: str) -> list[Direction]:
    assert recipe.comparison is not None
    return [one for one in recipe.comparison.directions if one.stated_by == "paper" and one.measure == measure]


@pytest.mark.parametrize(("name", "dataset"), [("ddm-removal", "breast-cancer"), ("ddm-removal-patients", "patients")])
def test_wei_et_al_say_that_models_without_the_most_exposed_surpass_the_others(name: str, dataset: str) -> None:
    recipe = load_recipe(f"comparisons/{name}")
    said = paper_says(recipe, "accuracy_logistic_regression")
    assert {(one.higher, one.lower) for one in said} == {
        (("without the most exposed",), ("all records",)),
        (("without the most exposed",), ("without as many at random",)),
    }
    assert all(line.dataset == dataset for line in recipe.runs)


@pytest.mark.parametrize("name", ["dp-sad-conditioning", "dp-sad-adversarial-weight"])
def test_dp_sads_ablations_compare_images_of_the_next_time_step(name: str) -> None:
    """As the paper's models predict them (section 4.1); of predicted noise the discriminator's gradient is a thousandth."""
    assert {line.settings["compared"] for line in load_recipe(f"comparisons/{name}").runs} == {"image"}


def test_table_3s_weights_are_all_there() -> None:
    names = {line.name for line in load_recipe("comparisons/dp-sad-adversarial-weight").runs}
    assert {f"lambda {value}" for value in ("0", "0.2", "0.5", "1", "2", "4")} <= names


@pytest.mark.parametrize(("name", "features"), [("p3dm-frontier", None), ("p3dm-frontier-network", "attributes")])
def test_p3dms_table_1_has_its_epsilons_and_a_tuned_scale(name: str, features: str | None) -> None:
    """Xu et al., Tables 1 and 2: 1, 5, 10, 15 and no privacy; gamma .01."""
    runs = load_recipe(f"comparisons/{name}").runs
    for series in ("p3dm-smile", "p3dm-length", "dpgen by smile", "dpdm by smile"):
        assert {line.name.rpartition(", ")[2] for line in runs if line.name.startswith(series)} == {"1", "5", "10", "15", "infinity"}
    steered = [line for line in runs if line.method == "p3dm"]
    tuned = {line.sampling["guidance.scale"] for line in steered}
    assert len(tuned) == 1
    assert f"k {tuned.pop():g}" in {line.name for line in load_recipe("comparisons/p3dm-scale").runs}
    assert {line.features for line in runs} == {features}
    assert features or all("pac_noise_norm_certain" in (line.metrics or ()) for line in runs)


def test_dp_promises_figures_are_asked_for_on_their_data() -> None:
    """Wang et al.: Figure 4 and the non-private column, Table 4 at S = 800, Table 3 without labels, Figure 6 to the whole chain."""
    curves = {(line.method, str(line.dataset), line.epsilon) for line in load_recipe("curves").runs}
    for dataset in ("mnist", "fashion-mnist"):
        assert {("dp-promise", dataset, epsilon) for epsilon in (0.2, 1.0, 10.0)} <= curves
        assert ("nonprivate", dataset, None) in curves
    phases = load_recipe("comparisons/dp-promise-phase-one-mnist").runs
    assert {(str(line.dataset), line.settings["boundary"], line.settings["phase_one.steps"] > 0) for line in phases} == {
        (dataset, 800, phase) for dataset in ("mnist", "fashion-mnist") for phase in (True, False)
    }
    assert {line.settings["conditional"] for line in load_recipe("cifar-10").runs} == {False}
    steps = {line.sampling.get("sampler.num_inference_steps") for line in load_recipe("comparisons/dp-promise-sampling").runs}
    assert make_plan("dp-promise", "digits").config["diffusion"]["timesteps"] in steps


def test_the_non_private_column_of_table_2_has_every_method_that_is_built_with_next_to_no_noise() -> None:
    """Beside the paper's printed numbers, on the same data and by the same measures."""
    lines = load_recipe("non-private").runs
    rows = load_published().query("source == 'dp-promise 2024' and table == '2' and epsilon == inf")
    printed = set(zip(rows["method"], rows["dataset"], strict=True))
    assert {tuple(line.name.split(", ")) for line in lines} == {row for row in printed if row[0] != "DP-MEPF"}
    assert {metric for line in lines for metric in line.metrics or ()} == set(measures_of(PUBLISHED, METRICS, "image"))
    for line in lines:
        facts = datasets.facts("mnist").model_copy(update={"name": line.dataset})
        config = make_plan(line.method, facts, preset=line.preset, settings=line.settings, delta=line.delta).config
        noise = config if line.method == "dp-merf" else config["phase_two" if line.method == "dp-promise" else "training"]
        assert noise["noise_multiplier"] == 1e-3
        assert (line.epsilon, line.num_samples) == (None, 60_000)


def test_chus_table_1_has_its_slowest_rate() -> None:
    assert 1e-6 in {line.settings["training.learning_rate"] for line in load_recipe("comparisons/chu-learning-rates").runs}
