"""Tests of the harness: each change of the source that would break a guarantee is found, by name."""

import __future__

import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
from support.mechanism import bench_of, cases, findings, is_found, violations
from support.odd_methods import join_registry, odd
from support.quick import ALL_METHODS

from workbench import experiment, methods
from workbench.methods.aim import method as aim_stages
from workbench.methods.aim import training as aim
from workbench.methods.cluster_moments import training as cluster_moments
from workbench.methods.cluster_moments.method import CLUSTERS, SECOND_MOMENT, SPREADS
from workbench.methods.datalens import training as datalens
from workbench.methods.dp_feta import CENTRAL
from workbench.methods.dp_feta import training as dp_feta
from workbench.methods.dp_mepf import DPMEPF
from workbench.methods.dp_mepf.method import SECOND
from workbench.methods.dp_promise import phases as dp_promise_phases
from workbench.methods.dp_promise import training as dp_promise
from workbench.methods.dp_sad import labelling
from workbench.methods.dp_sad.labels import SUMS
from workbench.methods.g_pate import training as g_pate
from workbench.methods.gs_wgan import training as gs_wgan
from workbench.methods.gs_wgan.method import CRITICS
from workbench.methods.gs_wgan.method import GRADIENTS as GRADIENTS_OF_IMAGES
from workbench.methods.mst import training as mst
from workbench.methods.mst.method import CHOICE
from workbench.methods.mst.method import _choice as mst_choice  # pyright: ignore[reportPrivateUsage]
from workbench.methods.p3gm import training as p3gm
from workbench.methods.p3gm.method import CENTRE, MIXTURE
from workbench.methods.pate_gan import training as pate_gan
from workbench.methods.private_classifier import training as private_classifier
from workbench.methods.private_classifier.method import GRADIENTS
from workbench.methods.privimage import training as privimage
from workbench.methods.privimage.method import QUERY
from workbench.methods.public_choice import training as voting
from workbench.methods.public_choice.method import CHOICE as CHOSEN
from workbench.methods.tab_pe import method as tab_pe_stages
from workbench.methods.tab_pe import training as tab_pe
from workbench.models import image_diffusion, label_counts
from workbench.models.embeddings import releases as embeddings
from workbench.models.embeddings import single
from workbench.models.embeddings.fourier import fourier_features
from workbench.models.grouping import EDGES
from workbench.models.grouping import releases as grouping
from workbench.models.label_shares import LABEL_COUNTS
from workbench.models.selection.config import CANDIDATES, VOTES
from workbench.models.selection.selector import Selector
from workbench.models.teachers import ensemble
from workbench.models.teachers import rounds as teacher_rounds
from workbench.models.teachers.config import TEACHERS
from workbench.models.teachers.config import VOTES as TEACHER_VOTES
from workbench.privacy.accounting import events
from workbench.training import poisson, private_training
from workbench.training.per_record import clipping
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.private_step import PrivateStep
from workbench.training.private_steps import PoissonBatches
from workbench.training.randomness import Randomness

PHASE_ONE, PHASE_TWO = "phase one", "phase two"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    join_registry(monkeypatch)


def altered(monkeypatch: pytest.MonkeyPatch, function: Any, old: str, new: str) -> None:
    """Give a function the code of its source with one text replaced, wherever it has been imported to."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {function.__qualname__}"
    names: dict[str, Any] = {}
    flags = __future__.annotations.compiler_flag  # the methods' modules name torch's types in annotations alone
    exec(compile(source.replace(old, new), inspect.getfile(function), "exec", flags), function.__globals__, names)
    changed = names[function.__name__]
    assert isinstance(changed, FunctionType)
    monkeypatch.setattr(function, "__code__", changed.__code__)


Change = tuple[Callable[..., Any] | str, str, str]  # a name: the method's own function of that name
DRAWN_RATE = "num_records, self.sample_rate)"
LONGER_FEATURES: Change = (
    fourier_features,
    "/ math.sqrt(frequencies.shape[1])",
    "* math.sqrt(2.0 / frequencies.shape[1])",
)
POISSON = "np.flatnonzero(randomness.stream(purpose, step).bernoulli(sample_rate, num_records))"
DRAWN = "randomness.stream(purpose, step).choice(num_records, batch_size)"
EARLIER_ALPHA = "build_schedule(config.diffusion).alphas_cumprod[config.last_private_timestep - 20]"
RELEASED = "randomness.release(purpose, step, grid.truncated(math.sqrt(alpha) * images.astype(np.float64)), grid)"
SAME_ZETA = (
    "grid.values(grid.truncated(math.sqrt(alpha) * images.astype(np.float64)) "
    "+ randomness.stream(purpose, step).floored_normal((1, images.shape[1])))"
)
CHANGES: dict[str, tuple[str, str, Change, tuple[str, str]]] = {  # what is wrong: method, stage, the change, what must be found
    "the rate doubled where it is asked for": (
        "dp-promise",
        PHASE_TWO,
        (PoissonBatches.drawn, DRAWN_RATE, DRAWN_RATE.replace("self", "2 * self")),
        (PHASE_TWO, "sampling rate"),
    ),
    "the rate doubled where it is drawn": (
        "odd-teacher",
        "teacher",
        (poisson.poisson_batch, "bernoulli(sample_rate,", "bernoulli(2 * sample_rate,"),
        ("teacher", "sampling rate"),
    ),
    "batches of a fixed size for Poisson ones": (
        "odd-teacher",
        "teacher",
        (
            poisson.poisson_batch,
            f"return {POISSON}",
            "return randomness.stream(purpose, step).choice(num_records, round(num_records * sample_rate))",
        ),
        ("teacher", "independence of records"),
    ),
    "one Poisson batch at every step": (
        "odd-teacher",
        "teacher",
        (poisson.poisson_batch, "stream(purpose, step)", "stream(purpose, 1)"),
        ("all", "freshness"),
    ),
    "draws by the position in the batch": (
        "ddm",
        "DP-SGD",
        (PrivateStep._microbatch, "Microbatch(step, records, places[records]", "Microbatch(step, records, records"),
        ("DP-SGD", "null record"),
    ),
    "phase two's noise halved": (
        "dp-promise",
        PHASE_TWO,
        (PrivateOptimizer._release, "gradient_grid(self.noise_multiplier", "gradient_grid(0.5 * self.noise_multiplier"),
        (PHASE_TWO, "noise multiplier"),
    ),
    "phase two's noise halved where it is set": (
        "dp-promise",
        PHASE_TWO,
        (private_training.clipped_by_record, "=steps.deviation", "=steps.deviation / 2"),
        (PHASE_TWO, "noise multiplier"),
    ),
    "the same noise at every step of phase two": (
        "dp-promise",
        PHASE_TWO,
        (PrivateOptimizer._noise, "stream(self.purpose, self.noise_step)", "stream(self.purpose, 1)"),
        ("all", "freshness"),
    ),
    "one number for the noise of a whole layer": (
        "dp-promise",
        PHASE_TWO,
        (PrivateOptimizer._noise, "floored_normal(shape, bits)", "floored_normal((1,), bits)"),
        (PHASE_TWO, "noise"),
    ),
    "gradients clipped to twice the norm": (
        "dp-promise",
        PHASE_TWO,
        (clipping.clipping_factors, "(max_grad_norm / ", "(2 * max_grad_norm / "),
        (PHASE_TWO, "noise multiplier"),
    ),
    "gradients not clipped": (
        "dp-promise",
        PHASE_TWO,
        (clipping.clipping_factors, ".clamp(max=1.0)", ".clamp(min=1.0)"),
        (PHASE_TWO, "clipping"),
    ),
    "the sum divided by the batch that was drawn": (
        "dp-promise",
        PHASE_TWO,
        (PrivateStep.apply, 'self.division == "expected"', 'self.division != "expected"'),
        (PHASE_TWO, "clipping"),
    ),
    "a step taken before it is spent": (
        "odd-teacher",
        "teacher",
        (
            "fit",
            "state.spend(name, step)\n            self._private_step(name, step, one_hot, images, data.mask, state)",
            "self._private_step(name, step, one_hot, images, data.mask, state)\n            state.spend(name, step)",
        ),
        ("teacher", "spending comes first"),
    ),
    "phase one noised at S - 20": (
        "dp-promise",
        PHASE_ONE,
        (
            dp_promise_phases.noised_images,
            "alpha_at_boundary(config)",
            EARLIER_ALPHA,
        ),
        (PHASE_ONE, "noise multiplier"),
    ),
    "phase one trained from S - 20": (
        "dp-promise",
        PHASE_ONE,
        (dp_promise.post_processing_loss, "torch.randint(boundary + 1,", "torch.randint(boundary - 20,"),
        (PHASE_ONE, "boundary"),
    ),
    "phase two trained beyond S": (
        "dp-promise",
        PHASE_TWO,
        (image_diffusion.row_losses, "part.integers(1, last + 1)", "part.integers(last + 1, last + 9)"),
        (PHASE_TWO, "boundary"),
    ),
    "the same zeta at every step": (
        "dp-promise",
        PHASE_ONE,
        (dp_promise.renoised_loss, '"phase one release", step', '"phase one release", 1'),
        ("all", "freshness"),
    ),
    "zeta the same for every record": (
        "dp-promise",
        PHASE_ONE,
        (
            dp_promise_phases.noised_images,
            RELEASED,
            SAME_ZETA,
        ),
        (PHASE_ONE, "noise"),
    ),
    "the same batch at every step of phase one": (
        "dp-promise",
        PHASE_ONE,
        (dp_promise.renoised_loss, '"phase one batch", step', '"phase one batch", 1'),
        (PHASE_ONE, "freshness"),
    ),
    "phase one's batch in the order of the records": (
        "dp-promise",
        PHASE_ONE,
        (poisson.fixed_size_batch, f"return {DRAWN}", f"return np.sort({DRAWN})"),
        (PHASE_ONE, "order"),
    ),
    "a zeta from the stream of other draws": (
        "dp-promise",
        PHASE_ONE,
        (dp_promise.renoised_loss, '"phase one release", step', '"phase one times", step'),
        (PHASE_ONE, "freshness"),
    ),
    "DP-MERF's embeddings of norm sqrt 2": (
        "dp-merf",
        "release",
        (embeddings.release_grid, "max_norm=1.0", "max_norm=2.0"),
        ("release", "null record"),
    ),
    "DP-MERF's noise halved": (
        "dp-merf",
        "release",
        (single.deviation, "2.0 * settings", "1.0 * settings"),
        ("release", "null record"),
    ),
    "a null record said to be as near again as it is": (
        "odd-teacher",
        "teacher",
        (events.distances, "Distances(_over(2.0, sigma), _over(1.0, sigma))", "Distances(_over(2.0, sigma), _over(0.5, sigma))"),
        ("teacher", "null record"),
    ),
    "half of the replace-one distance of a fixed-size batch stated": (
        "dp-promise",
        PHASE_ONE,
        (events.distances, "_over(1.0, event.noise_multiplier), _over(1", "_over(0.5, event.noise_multiplier), _over(1"),
        (PHASE_ONE, "replaced record"),
    ),
    "a quarter of the distance of a fixed-size batch stated for the null record": (
        "dp-promise",
        PHASE_ONE,
        (events.distances, "noise_multiplier), _over(1.0, event", "noise_multiplier), _over(0.25, event"),
        (PHASE_ONE, "null record"),
    ),
    "DP-MERF spent after its release": (
        "dp-merf",
        "release",
        (
            embeddings.release,
            "state.spend(stage, step)\n    total = summed(data, embedding, grid, tuple(state.tensors[tensor].shape), state.device)",
            "total = summed(data, embedding, grid, tuple(state.tensors[tensor].shape), state.device)\n    state.spend(stage, step)",
        ),
        ("release", "spending comes first"),
    ),
}


@pytest.mark.parametrize("what", [what for what, (method, *_) in CHANGES.items() if method in ALL_METHODS])
def test_a_change_that_breaks_the_guarantee_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, stage, (function, old, new), expected = CHANGES[what]
    altered(monkeypatch, getattr(methods.METHODS[method], function) if isinstance(function, str) else function, old, new)
    if "sqrt 2" in what:
        altered(monkeypatch, *LONGER_FEATURES)
    assert is_found(bench_of(method), *expected, only=stage)


JOINED = "marginals = joined_measurements(measurements(config, state))"
CLEAN = f"{JOINED}; [one.shares.__setitem__(slice(None), config.clean.of(one.columns)) for one in marginals if 'clean' in config.__dict__]"
SCORED = "pair_scores = scores(config, data, state) if pair_scores is None else pair_scores"
COUNTED = 'votes = spaces.count_votes(self._space, self._images("candidates"), data, choices) * share'
IN_CASES: dict[str, tuple[cases.Case, str, list[Change], str]] = {  # what is wrong: case, stage, the changes, the quantity that is found
    "the second moment of DP-MEPF said to move as little as its paper says": (
        cases.Case("dp-mepf", {"moments": "published"}),
        SECOND,
        [(DPMEPF.embeddings, "config.second_distance / math.sqrt(2.0)", "config.second_distance")],
        "replaced record",
    ),
    "the same noise in every round of DP k-means": (
        cases.Case("dp-sad", {"labels.source": "dp-k-means"}),
        "all",
        [(labelling.release, "release(SUMS, round_,", "release(SUMS, 1,")],
        "freshness",
    ),
    "one draw for all ranges of a level": (
        cases.Case("mst", {"columns.quantile_ranges": 4}),
        EDGES,
        [(grouping.halved_bounds, "rate, place)", "rate)")],
        "freshness",
    ),
    "votes counted before they are recorded": (
        cases.Case("private-evolution"),
        VOTES,
        [
            (
                Selector.vote,
                "self.state.spend(VOTES, round_)",
                'spaces.count_votes(self._space, self._images("candidates"), data, 1); self.state.spend(VOTES, round_)',
            )
        ],
        "spending comes first",
    ),
    "votes for public datasets counted before they are recorded": (
        cases.Case("public-choice"),
        CHOSEN,
        [(voting.vote, "state.spend(CHOICE, 1)", "counts(config, data, state); state.spend(CHOICE, 1)")],
        "spending comes first",
    ),
    "a classifier's gradients made before they are recorded": (
        cases.Case("private-classifier"),
        GRADIENTS,
        [(private_classifier.fit, "state.spend(GRADIENTS, step)", "scatter(data.records); state.spend(GRADIENTS, step)")],
        "spending comes first",
    ),
    "a classifier's gradients not clipped": (
        cases.Case("private-classifier"),
        GRADIENTS,
        [(private_classifier.gradients, "grid.truncated(each)", "np.trunc(each / grid.spacing).astype(np.int64)")],
        "null record",
    ),
    "a classifier's noise halved": (
        cases.Case("private-classifier"),
        GRADIENTS,
        [
            (
                private_classifier.release,
                "multiplier(config) * config.max_grad_norm, config",
                "multiplier(config) * config.max_grad_norm / 2, config",
            )
        ],
        "null record",
    ),
    "central images made before they are recorded": (
        cases.Case("dp-feta"),
        CENTRAL,
        [(dp_feta.release_central, "state.spend(CENTRAL, step)", "data.mask.sum(); state.spend(CENTRAL, step)")],
        "spending comes first",
    ),
    "central images with half of their noise": (
        cases.Case("dp-feta"),
        CENTRAL,
        [(dp_feta.grid_of, "Grid(planned.deviation", "Grid(0.5 * planned.deviation")],
        "null record",
    ),
    "central images of one Poisson batch": (
        cases.Case("dp-feta"),
        "all",
        [(dp_feta.release_central, 'f"{CENTRAL} batch", step', 'f"{CENTRAL} batch", 1')],
        "freshness",
    ),
    "votes for kinds with half of their noise": (
        cases.Case("privimage"),
        QUERY,
        [(privimage.record_votes, "Grid(query.noise_multiplier", "Grid(0.5 * query.noise_multiplier")],
        "null record",
    ),
    "image gradients with half of their noise": (
        cases.Case("gs-wgan"),
        GRADIENTS_OF_IMAGES,
        [(gs_wgan.noisy_gradients, "Grid(2.0 * norm", "Grid(norm")],
        "replaced record",
    ),
    "image gradients clipped to twice the norm": (
        cases.Case("gs-wgan"),
        GRADIENTS_OF_IMAGES,
        [(gs_wgan.noisy_gradients, "known_noise_multiplier(), norm,", "known_noise_multiplier(), 2 * norm,")],
        "replaced record",
    ),
    "a generator that follows clean gradients": (
        cases.Case("gs-wgan"),
        GRADIENTS_OF_IMAGES,
        [
            (
                gs_wgan.Training.release,
                "self.move(step, images, noisy)",
                "self.move(step, images, image_gradients(self.critic(part), images, classes))",
            )
        ],
        "follows from releases",
    ),
    "a generator that moves while critics learn": (
        cases.Case("gs-wgan"),
        CRITICS,
        [
            (
                gs_wgan.Training.learn,
                "self.state.steps[CRITICS] = step",
                "self.state.steps[CRITICS] = step; list(self.generator.parameters())[0].data += loss",
            )
        ],
        "quiet",
    ),
    "critics that learn before that is recorded": (
        cases.Case("gs-wgan"),
        CRITICS,
        [
            (
                gs_wgan.Training.learn,
                "self.state.spend(CRITICS, step)",
                "self.images[torch.arange(2)]; self.state.spend(CRITICS, step)",
            )
        ],
        "spending comes first",
    ),
    "one coin for all steps": (
        cases.Case("gs-wgan"),
        "all",
        [(gs_wgan.Training.release, 'f"{GRADIENTS} part", step', 'f"{GRADIENTS} part", 1')],
        "freshness",
    ),
    "a coin that half of the parts are never under": (
        cases.Case("gs-wgan"),
        GRADIENTS_OF_IMAGES,
        [(gs_wgan.Training.release, "self.config.critics.parts, 1)[0])", "self.config.critics.parts, 1)[0]) % 2")],
        "part drawn",
    ),
    "all critics asked at once": (
        cases.Case("gs-wgan"),
        GRADIENTS_OF_IMAGES,
        [
            (
                gs_wgan.Training.release,
                "image_gradients(self.critic(part), images, classes)",
                "sum(image_gradients(self.critic(one), images, classes) for one in range(self.config.critics.parts))",
            )
        ],
        "part not drawn",
    ),
    "components around the clean mean": (
        cases.Case("p3gm"),
        CENTRE,
        [(p3gm.release_centre, "state.randomness.release(CENTRE, 1, total, grid)", "grid.values(total)")],
        "follows from releases",
    ),
    "sums of a mixture with half of their noise": (
        cases.Case("p3gm"),
        MIXTURE,
        [(p3gm.release_mixture, "Grid(noise * norm", "Grid(0.5 * noise * norm")],
        "null record",
    ),
    "moments of clusters made before they are recorded": (
        cases.Case("cluster-moments"),
        SPREADS,
        [
            (
                cluster_moments.fit,
                "state.spend(stage, step)",
                "data.mask.sum(); state.spend(stage, step)",
            )
        ],
        "spending comes first",
    ),
    "a record in the sums of its cluster twice": (
        cases.Case("cluster-moments"),
        CLUSTERS,
        [(cluster_moments.release_clusters, "(labels, cluster), added *", "(labels, cluster), 2 * added *")],
        "null record",
    ),
    "sums by cluster with half of their noise": (
        cases.Case("cluster-moments"),
        CLUSTERS,
        [(cluster_moments.unit_grid, "Grid(multiplier(config, name),", "Grid(0.5 * multiplier(config, name),")],
        "null record",
    ),
    "sums by cluster with the same noise in every round": (
        cases.Case("cluster-moments", {"rounds": 2}),
        "all",
        [(cluster_moments.release_clusters, "release(CLUSTERS, step,", "release(CLUSTERS, 1,")],
        "freshness",
    ),
    "covariances of groups with half of their noise": (
        cases.Case("cluster-moments", {"groups": 2, "reach": 0.05, "group_directions": 1}),
        SPREADS,
        [(cluster_moments.release_spreads, "widened_deviation(noise, noise,", "widened_deviation(0.5 * noise, noise,")],
        "replaced record",
    ),
    "a record in its group's covariance twice": (
        cases.Case("cluster-moments", {"groups": 2, "reach": 0.05, "group_directions": 1}),
        SPREADS,
        [(cluster_moments.products_by_group, "= of_products * triangle(total)", "= 2 * triangle(total)")],
        "replaced record",
    ),
    "groups' covariances without noise": (
        cases.Case("cluster-moments", {"groups": 2}),
        SPREADS,
        [
            (
                cluster_moments.release_spreads,
                "state.randomness.release(SPREADS, step, grid.rounded(sums), grid)",
                "grid.values(grid.rounded(sums))",
            )
        ],
        "follows from releases",
    ),
    "a second moment with half of its noise": (
        cases.Case("cluster-moments", {"max_difference": 0.05}),
        SECOND_MOMENT,
        [(cluster_moments.release_second_moment, "widened_deviation(noise *", "widened_deviation(0.5 * noise *")],
        "null record",
    ),
    "directions found by a clean second moment": (
        cases.Case("cluster-moments"),
        SECOND_MOMENT,
        [
            (
                cluster_moments.release_second_moment,
                "state.randomness.release(SECOND_MOMENT, step, grid.rounded(sums), grid)",
                "grid.values(grid.rounded(sums))",
            )
        ],
        "follows from releases",
    ),
    "classes counted before that is recorded": (
        cases.Case("dp-merf", {"labels.shares": "released"}),
        LABEL_COUNTS,
        [(label_counts.release, "state.spend(LABEL_COUNTS, 1)", "data.mask.sum(); state.spend(LABEL_COUNTS, 1)")],
        "spending comes first",
    ),
    "counts of classes with half of their noise": (
        cases.Case("dp-merf", {"labels.shares": "released"}),
        LABEL_COUNTS,
        [(label_counts.release, "grid_of(1, labels.noise_multiplier,", "grid_of(1, 0.5 * labels.noise_multiplier,")],
        "null record",
    ),
    "clean counts of classes": (
        cases.Case("dp-merf", {"labels.shares": "released"}),
        LABEL_COUNTS,
        [
            (
                label_counts.release,
                "state.randomness.release(LABEL_COUNTS, 1, in_steps(counts, 1, grid), grid)",
                "grid.values(in_steps(counts, 1, grid))",
            )
        ],
        "without noise",
    ),
    "votes for public datasets with half of their noise": (
        cases.Case("public-choice"),
        CHOSEN,
        [(voting.vote, "Grid(config.noise_multiplier,", "Grid(0.5 * config.noise_multiplier,")],
        "null record",
    ),
    "pair scores counted before they are recorded": (
        cases.Case("mst"),
        CHOICE,
        [
            (
                mst.choose_pairs,
                f"state.spend(CHOICE, step)\n        {SCORED}",
                f"{SCORED}\n        state.spend(CHOICE, step)",
            )
        ],
        "spending comes first",
    ),
    "a marginal counted before its release is recorded": (
        cases.Case("aim"),
        aim_stages.MARGINALS,
        [
            (
                aim.fit,
                "state.spend(MARGINALS, round_)\n            state.tensors",
                "tables.data.mask; state.spend(MARGINALS, round_)\n            state.tensors",
            )
        ],
        "spending comes first",
    ),
    "scores of marginals weighed by up to 2": (
        cases.Case("aim"),
        aim_stages.CHOICE,
        [(aim.scores, "weight * np", "2 * weight * np")],
        "null record",
    ),
    "marginals released with half of their noise": (
        cases.Case("aim"),
        aim_stages.MARGINALS,
        [(aim.noisy_counts, "grid_of(1, round_noise", "grid_of(1, 0.5 * round_noise")],
        "null record",
    ),
    "marginals of every round with the first one's noise": (
        cases.Case("aim"),
        "all",
        [(aim.noisy_counts, "release(MARGINALS, round_,", "release(MARGINALS, 1,")],
        "freshness",
    ),
    "votes for rows with half of their noise": (
        cases.Case("tab-pe"),
        tab_pe_stages.VOTES,
        [(tab_pe.fit, "grid_of(1, config", "grid_of(1, 0.5 * config")],
        "null record",
    ),
    "columns counted with half of their noise": (
        cases.Case("tab-pe"),
        tab_pe_stages.COLUMNS,
        [(tab_pe.released_columns, "grid_of(columns, config", "grid_of(columns, 0.5 * config")],
        "null record",
    ),
    "two votes of a record": (
        cases.Case("tab-pe"),
        tab_pe_stages.VOTES,
        [(tab_pe.votes, "return np", "return 2 * np")],
        "null record",
    ),
    "a model that fits the clean counts": (
        cases.Case("aim"),
        aim_stages.ESTIMATE,
        [
            (aim.noisy_counts, "columns = sets_of", "tables.config.__dict__['clean'] = tables; columns = sets_of"),
            (aim.estimate, JOINED, CLEAN),
        ],
        "free",
    ),
    "candidates chosen by clean votes": (
        cases.Case("private-evolution"),
        CANDIDATES,
        [
            (Selector.vote, COUNTED, f"self.clean = {COUNTED}"),
            (Selector._draw_again, "weights_of(self.kept_votes())", "weights_of(torch.from_numpy(self.clean).double())"),
        ],
        "free",
    ),
    "clean votes for public datasets told of as if they were noisy": (
        cases.Case("public-choice"),
        CHOSEN,
        [(voting.vote, "zip(config.names, noisy, strict=True)", "zip(config.names, counts(config, data, state), strict=True)")],
        "private",
    ),
    "clean votes told of as if they were noisy": (
        cases.Case("private-evolution"),
        VOTES,
        [(Selector.vote, "float((self.kept_votes() > 0).double().mean())", "float((votes > 0).mean())")],
        "private",
    ),
    "votes of teachers with half of their noise": (
        cases.Case("pate-gan"),
        TEACHER_VOTES,
        [(ensemble.noisy_votes, "Grid(noise, 1.0", "Grid(0.5 * noise, 1.0")],
        "null record",
    ),
    "counts of teachers with half of their Laplace noise": (
        cases.Case("pate-gan", {"noise": "laplace"}),
        TEACHER_VOTES,
        [(pate_gan.with_noise, "VOTES, step, counts, noise)", "VOTES, step, counts, noise / 2)")],
        "noise",
    ),
    "clean counts of teachers": (
        cases.Case("pate-gan"),
        TEACHER_VOTES,
        [(pate_gan.with_noise, "return ensemble.noisy_votes(counts, noise, state, step)", "return counts.astype(np.float64)")],
        "follows from releases",
    ),
    "teachers that vote twice": (
        cases.Case("pate-gan"),
        TEACHER_VOTES,
        [(pate_gan.vote, "> 0).sum(dim=0)", "> 0).sum(dim=0) * 2")],
        "replaced record",
    ),
    "teachers that learn before it is recorded": (
        cases.Case("pate-gan"),
        TEACHERS,
        [(teacher_rounds.fit, "state.spend(TEACHERS, step)", "data.mask.sum(); state.spend(TEACHERS, step)")],
        "spending comes first",
    ),
    "a generator that asks a teacher": (
        cases.Case("pate-gan"),
        "generator",
        [(pate_gan.loss, "frozen(state.modules[STUDENT])", "frozen(state.modules['teachers'])")],
        "free",
    ),
    "tests of G-PATE with half of their noise": (
        cases.Case("g-pate", {"threshold": 0.5, "test_noise": 0.2}),
        TEACHER_VOTES,
        [(g_pate.vote, "deviation = noise *", "deviation = 0.5 * noise *")],
        "replaced record",
    ),
    "DataLens' votes by numbers in place of signs": (
        cases.Case("datalens"),
        TEACHER_VOTES,
        [(datalens.signs, "coins < odds, 1, -1", "coins < odds, 4, -4")],
        "replaced record",
    ),
    "centroids found by clean sums": (
        cases.Case("dp-sad", {"labels.source": "dp-k-means"}),
        SUMS,
        [(labelling.release, "state.randomness.release(SUMS, round_, total, grid)", "grid.values(total)")],
        "follows from releases",
    ),
}


@pytest.mark.parametrize("what", IN_CASES)
def test_a_change_of_a_configured_mechanism_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, stage, changes, quantity = IN_CASES[what]
    for function, old, new in changes:
        altered(monkeypatch, function, old, new)
    assert is_found(case.bench(), stage, quantity, only=stage)


def test_longer_features_are_truncated_before_they_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    altered(monkeypatch, *LONGER_FEATURES)
    assert violations(findings(bench_of("dp-merf"), only="release")) == [], (
        "the grid truncates every vector to the norm that the event states"
    )


def test_public_records_that_are_private_are_missed_without_their_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "check_apart", lambda _train, _public: None)
    violated = violations(findings(bench_of("dp-promise", {"phase_one.steps": 0, "phase_two.steps": 1})))
    assert [(finding.stage, finding.quantity) for finding in violated] == [("all", "public records")]


def test_streams_that_forget_the_step_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Randomness.stream
    monkeypatch.setattr(Randomness, "stream", lambda self, purpose, step=0, index=0: stream(self, purpose, 0, index))
    assert is_found(bench_of(odd("odd-teacher").name), "all", "freshness", only="teacher")


def test_half_the_distance_for_a_null_record_of_a_table_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    altered(monkeypatch, odd("odd-marginals").stages, "zero_out_ratio=math.sqrt(0.5)", "zero_out_ratio=0.5")
    assert is_found(bench_of("odd-marginals"), "release", "null record", only="release")


@pytest.mark.parametrize(
    ("old", "new", "quantity"),
    [("zero_out_ratio=0.5", "zero_out_ratio=0.2", "null record"), ("2.0 * config", "1.0 * config", "replaced record")],
)
def test_a_choice_that_tells_more_than_its_event_is_found(monkeypatch: pytest.MonkeyPatch, old: str, new: str, quantity: str) -> None:
    altered(monkeypatch, mst_choice, old, new)
    assert is_found(bench_of("mst"), CHOICE, quantity, only=CHOICE)
