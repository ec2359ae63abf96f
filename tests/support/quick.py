"""Configurations of seconds for every method, and the datasets they run on."""

from typing import Any

from support.drawn_faces import toy_faces
from support.odd_methods import ODD_METHODS
from support.tables import toy_table
from workbench.datasets import Dataset, load
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.planning import make_plan

TINY = {
    "network.base_channels": 8,
    "network.channel_multipliers": (1,),
    "network.num_res_blocks": 1,
    "sampler.num_inference_steps": 4,
}

FINE_TUNED = {
    "pretraining.records": 50,
    "pretraining.steps": 3,
    "pretraining.batch_size": 8,
    "training.steps": 3,
    "training.batch_size": 20,
    "training.noise_multiplicity": 2,
}

RECOVERY = {
    "responses.rounds": 1,
    "responses.num_candidates": 4,
    "training.steps": 3,
    "training.batch_size": 8,
    "langevin.levels": 3,
    "langevin.steps_per_level": 2,
}

GAN = {
    "hidden_size": 10,
    "channels": 2,
    "critic.width": 2,
    "critic.hidden_size": 4,
    "training.steps": 5,
    "training.batch_size": 20,
    "training.max_grad_norm": 1e-3,
    "generator.critic_steps": 2,
    "generator.batch_size": 10,
}

TEACHERS = {
    "hidden_size": 20,
    "channels": 4,
    "teachers.number": 5,
    "teachers.hidden": 8,
    "teachers.updates": 2,
    "teachers.batch_size": 4,
    "training.steps": 3,
    "training.batch_size": 4,
}

QUICK: dict[str, dict[str, Any]] = {
    "nonprivate": TINY | {"training.steps": 4, "training.batch_size": 8},
    "dp-merf": {"num_features": 100, "training.steps": 4, "training.batch_size": 20},
    "class-means": {"records": 50},
    "dp-mepf": {"training.steps": 4, "training.batch_size": 20, "features.steps": 3, "features.records": 50, "features.width": 4},
    "pearl": {"num_features": 100, "training.steps": 5, "training.batch_size": 20},
    "dp-hp": {"order": 3, "product_order": 2, "rounds": 2, "training.steps": 4, "training.batch_size": 20},
    "dp-kernel": {"num_features": 100, "training.steps": 4, "training.batch_size": 20, "training.schedule": "cosine"},
    "dp-ntk": {"width": 2, "training.steps": 4, "training.batch_size": 20},
    "class-moments": {"records": 50, "pooling": 2},
    "prior-moments": {"records": 50, "pooling": 2},
    "public-choice": {"records": 30},
    "private-classifier": {"records": 70, "steps": 3, "octaves": 1, "orientations": 2, "components": 5, "max_grad_norm": 0.1},
    "cluster-moments": {"frequencies": 4, "directions": 6, "clusters": 2},
    "private-evolution": {"selection.records": 60, "selection.candidates": 3, "selection.choices": 2, "selection.rounds": 2},
    "votes-and-clusters": {
        "selection.records": 60,
        "selection.candidates": 3,
        "selection.choices": 2,
        "selection.rounds": 2,
        "clusters.frequencies": 4,
        "clusters.directions": 6,
        "clusters.clusters": 2,
    },
    "dp-sgd-dm": TINY | FINE_TUNED,
    "dpdm": TINY | FINE_TUNED | {"pretraining.dataset": "glyphs"},
    "dp-feta": TINY
    | FINE_TUNED
    | {
        "central.batches": 2,
        "central.sample_rate": 0.5,
        "central.pooling": 2,
        "warm_up.steps": 2,
        "warm_up.batch_size": 8,
        "embedding.num_features": 50,
        "embedding.images": 20,
        "embedding.generator.steps": 2,
        "embedding.generator.batch_size": 20,
    },
    "privimage": TINY
    | {
        "query.records": 60,
        "query.kinds": 50,
        "query.classifier.steps": 2,
        "query.classifier.batch_size": 8,
        "pretraining.steps": 2,
        "pretraining.batch_size": 8,
        "training.steps": 2,
        "training.batch_size": 20,
    },
    "psg": {
        "images": 2,
        "matching.steps": 5,
        "matching.batch_size": 20,
        "matching.max_grad_norm": 0.05,
        "teaching.batches": 2,
        "teaching.rounds": 2,
        "teaching.inner_steps": 2,
        "classifier.blocks": 1,
        "classifier.width": 4,
    },
    "dp-gan": GAN,
    "dp-cgan": GAN,
    "dp-sinkhorn": {
        "hidden_size": 20,
        "channels": 4,
        "training.steps": 3,
        "training.batch_size": 20,
        "training.noise_multiplicity": 1,
        "training.max_grad_norm": 0.01,  # every gradient is longer
        "transport.iterations": 2,
    },
    "p3gm": {
        "components.number": 5,
        "components.max_norm": 2.0,
        "mixture.components": 2,
        "mixture.steps": 2,
        "autoencoder.hidden": 8,
        "decoder.steps": 2,
        "decoder.batch_size": 8,
        "training.steps": 2,
        "training.batch_size": 20,
    },
    "gs-wgan": {
        "critics.parts": 4,
        "critics.network": {"blocks": 0, "hidden_layers": 1, "hidden_size": 8},
        "critics.turns": 1,
        "critics.updates": 2,
        "critics.warm_up": 1,
        "critics.batch_size": 8,
        "generator.hidden_size": 8,
        "release.batch_size": 4,
        "release.steps": 5,
    },
    "pate-gan": TEACHERS | {"student.updates": 2, "student.hidden": 8},
    "g-pate": TEACHERS | {"directions": 2, "bins": 4},
    "datalens": TEACHERS | {"top": 3},
    "dp-promise": TINY
    | {
        "pretraining.records": 50,
        "pretraining.steps": 3,
        "pretraining.batch_size": 8,
        "phase_one.steps": 3,
        "phase_one.batch_size": 8,
        "phase_two.steps": 3,
        "phase_two.batch_size": 20,
        "phase_two.noise_multiplicity": 2,
    },
    "aim": {"rounds": 3},
    "tab-pe": {"rounds": 3, "records": 20, "drawn_rounds": 1},
    "ddm": {
        "training.steps": 3,
        "training.batch_size": 20,
        "training.noise_multiplicity": 8,  # so many times of 50 tell one step's draws from another's
        "network.hidden_width": 8,
    },
    "chu-dpdm": TINY
    | {
        "training.steps": 3,
        "training.batch_size": 20,
        "training.noise_multiplicity": 2,
        "training.max_grad_norm": 1e-3,  # in units of a mean norm: every gradient is longer
        "public.records": 50,
        "public.batch_size": 4,
    },
    "dp-sad": TINY
    | {
        "pretraining.records": 50,
        "pretraining.steps": 3,
        "pretraining.batch_size": 8,
        "private_teacher.steps": 2,
        "private_teacher.batch_size": 20,
        "unprotected_teacher.steps": 3,
        "unprotected_teacher.batch_size": 8,
        "student.steps": 3,
        "student.batch_size": 20,
        "discriminator.steps": 2,
        "discriminator.batch_size": 8,
        "discriminator.generated": 20,
    },
    "dpgen": {name: value for name, value in TINY.items() if name.startswith("network")} | RECOVERY,
    "p3dm": {name: value for name, value in TINY.items() if name.startswith("network")}
    | RECOVERY
    | {"attribute": "smile", "unprotected.steps": 2, "unprotected.batch_size": 8, "pac_samples": 10},
    "dp-diffusion": TINY
    | {
        "pretraining.records": 50,
        "pretraining.steps": 3,
        "pretraining.batch_size": 8,
        "fine_tuning.steps": 3,
        "fine_tuning.batch_size": 20,
        "fine_tuning.noise_multiplicity": 2,
        "augmentation.flips": True,
        "augmentation.crop": 1,
    },
    "dp-ldm": TINY | FINE_TUNED,
    "dp-lora": TINY | FINE_TUNED | {"adapters.rank": 2},
    "selective-pretraining": TINY
    | {
        "selection.rounds": 2,
        "selection.candidates": 10,
        "selection.records": 200,
        "pretraining.steps": 2,
        "pretraining.batch_size": 8,
        "selective.records": 40,
        "selective.steps": 2,
        "selective.batch_size": 8,
        "refinement.steps": 3,
        "refinement.batch_size": 20,
    },
}

ALL_METHODS = [*METHODS, *ODD_METHODS]
PRIVATE_METHODS = [name for name, kind in (METHODS | ODD_METHODS).items() if kind.calibrated_fields]  # those that meet an epsilon
BOUNDED_METHODS = [name for name in PRIVATE_METHODS if "bound" in (METHODS | ODD_METHODS)[name].targets]  # and that of a bound


def asked_of(method: str) -> dict[str, Any]:
    """Epsilon 10 of a bound, or of a claim where no bound can be met; nothing where the method takes no epsilon."""
    return {"epsilon": 10.0, "target": "bound" if method in BOUNDED_METHODS else "claim"} if method in PRIVATE_METHODS else {}


def quick_dataset(method: str) -> Dataset:
    """The digits, the small table for methods on tables, a few faces where attributes matter."""
    if method == "p3dm":
        return toy_faces()
    return toy_table() if "table" in (METHODS | ODD_METHODS)[method].kinds else load("digits")


def quick_plan(method: str, **options: Any) -> Plan:
    """A plan of seconds at epsilon 10 (where the method takes one)."""
    options = asked_of(method) | options
    overrides = QUICK.get(method, {}) | options.pop("overrides", {})
    return make_plan(method, quick_dataset(method).facts, settings=overrides, **options)
