"""An entry for the OpenDP deployments registry, of tier 3: what a dossier says in that registry's fields.

The fields are those of its schema of 2025 (MIT), written anew here; a test compares entries with the schema where it is at hand.
"""

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

from workbench.errors import WorkbenchError
from workbench.runs.dossier.questions import QUESTIONS
from workbench.runs.dossier.sections import TRUST, UNPROTECTED, numbers
from workbench.runs.dossier.values import Dossier

FIELDS = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
POST_PROCESSING = "The samples are drawn from what was released; whatever follows costs nothing more."


class Basic(BaseModel):
    """What is published, by whom and for what."""

    model_config = FIELDS

    name: str
    data_curators: tuple[str, ...]
    description: str
    intended_use: str
    data_product_type: Literal["Synthetic data"] = "Synthetic data"
    data_product_region: str
    publication_date: str
    data_product_sector: str | None


class Variant(BaseModel):
    """Which differential privacy."""

    model_config = FIELDS

    variant_name: Literal["Approximate DP", "Pure DP"]
    data_domain: str
    unprotected_quantities: str


class Parameters(BaseModel):
    """Epsilon and delta."""

    model_config = FIELDS

    epsilon: float
    delta: float


class Loss(BaseModel):
    """The unit of privacy and the parameters."""

    model_config = FIELDS

    privacy_unit: str
    privacy_unit_details: str
    privacy_parameters: Parameters
    privacy_parameters_details: str


class Model(BaseModel):
    """The deployment model."""

    model_config = FIELDS

    model_name: Literal["Central"] = "Central"
    model_name_details: str = TRUST
    actors: str
    release_type: str
    release_type_details: str
    data_source_type: Literal["Static"] = "Static"
    access_type: Literal["Non-interactive"] = "Non-interactive"
    access_type_details: str = "What is published is a file of samples."


class Accounting(BaseModel):
    """Post-processing and composition."""

    model_config = FIELDS

    post_processing: str
    composition: str


class Implementation(BaseModel):
    """Preparation, mechanisms and reasons."""

    model_config = FIELDS

    preprocessing_and_hyperparameter_tuning: str
    mechanisms: str
    justification: str


class Administrative(BaseModel):
    """Where it is from."""

    model_config = FIELDS

    sources: str
    notes: str
    registry_authors: tuple[str, ...]


class Deployment(BaseModel):
    """The whole description."""

    model_config = FIELDS

    basic: Basic
    dp_variant: Variant
    privacy_loss: Loss
    deployment_model: Model
    accounting: Accounting
    implementation: Implementation
    administrative: Administrative


class Entry(BaseModel):
    """A record of the registry."""

    model_config = FIELDS

    url_slug: str
    status: Literal["Draft"] = "Draft"
    tier: Literal[3] = 3
    deployment: Deployment

    @property
    def text(self) -> str:
        """As JSON, which is YAML too."""
        return self.model_dump_json(indent=2, exclude_none=True) + "\n"


def registry_entry(dossier: Dossier) -> Entry:
    """The entry; refused where an answer that it needs is missing, and where there is no finite proved bound to register."""
    card = dossier.card
    if not card.releasable:
        raise WorkbenchError(f"Expected a run that may be released, got {card.run}. {card.release_reason}")
    if missing := [key for key, question in QUESTIONS.items() if question.registry and not dossier.answers.get(key)]:
        raise WorkbenchError(
            f"Expected answers to all that an entry of tier 3 needs, got none to: {', '.join(missing)}. `workbench dossier RUN "
            "--questions` asks them, `--state KEY=TEXT` answers."
        )
    said = dossier.answers
    return Entry(
        url_slug=re.sub(r"[^a-z0-9]+", "_", said["product"].lower()).strip("_") or card.run,
        deployment=Deployment(
            basic=Basic(
                name=said["product"],
                data_curators=tuple(name.strip() for name in said["curators"].split(";") if name.strip()),
                description=said["description"],
                intended_use=said["purpose"],
                data_product_region=said["region"],
                publication_date=said["published"],
                data_product_sector=said.get("sector") or None,
            ),
            dp_variant=Variant(
                variant_name="Approximate DP", data_domain=said["domain"], unprotected_quantities=_unprotected_words(dossier)
            ),
            privacy_loss=_loss(dossier),
            deployment_model=Model(actors=said["actors"], release_type=said["release"], release_type_details=said["later"]),
            accounting=_accounting(dossier),
            implementation=_implementation(dossier),
            administrative=Administrative(
                sources=dossier.source,
                notes=f"From the dossier with SHA-256 {dossier.digest}.",
                registry_authors=tuple(name.strip() for name in said["signer"].split(";") if name.strip()),
            ),
        ),
    )


def _unprotected_words(dossier: Dossier) -> str:
    public = f" The images {dossier.card.public} are taken to be public." if dossier.card.public else ""
    return f"{UNPROTECTED}.{public}"


def _loss(dossier: Dossier) -> Loss:
    card, profile = dossier.card, dossier.profile
    relation = card.bound.neighboring_relation.lower().replace("_", " ")
    said = [(name, value) for name, value in numbers(dossier) if value is not None and value.status != "not_evaluated"]
    values = "; ".join(f"{name}: epsilon {value.epsilon:.6g}" for name, value in said)
    mu = "" if profile.mu is None else f" mu of Gaussian DP: {profile.mu:.6g} ({profile.mu_is})."
    return Loss(
        privacy_unit=card.unit.partition(".")[0],
        privacy_unit_details=f"{card.unit} Neighboring data sets: {relation}. {dossier.answers['person']}",
        privacy_parameters=Parameters(epsilon=card.bound.epsilon, delta=card.bound.delta),
        privacy_parameters_details=f"{values}, each at delta {card.bound.delta:.6g}.{mu}",
    )


def _accounting(dossier: Dossier) -> Accounting:
    place = dossier.card.ledger
    return Accounting(
        post_processing=f"{POST_PROCESSING} {dossier.answers['after']}",
        composition=(
            f"By the accountant {dossier.card.bound.accountant}. All {place.runs} runs on these records come to epsilon "
            f"{place.total.epsilon:.6g} at delta {place.total.delta:.6g}."
        ),
    )


def _implementation(dossier: Dossier) -> Implementation:
    card, said = dossier.card, dossier.answers
    releases = "; ".join(f"{stage.name} ({stage.steps} times)" for stage in card.spent)
    return Implementation(
        preprocessing_and_hyperparameter_tuning=said["preparation"],
        mechanisms=(
            f"{dossier.title}: {releases}. DP diffusion workbench {card.workbench}. {' '.join(card.assumes)} Access: {said['access']} "
            f"The machine: {said['machine']}"
        ),
        justification=said["why_epsilon"],
    )
