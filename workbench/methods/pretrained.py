"""What methods have in common that may begin with public pre-training: which records it takes, and the model that it ends with."""

from typing import ClassVar, Generic, TypeVar

from workbench.methods.base import Method
from workbench.models.settings import PretrainedSettings

ConfigT = TypeVar("ConfigT", bound=PretrainedSettings)


class Pretrained(Method, Generic[ConfigT]):
    """Public pre-training, if any, and a moving average that is kept as it ends with: what all of them plan alike.

    State, steps and samples are `workbench.models.pretrained`'s.
    """

    released: ClassVar[tuple[str, ...]] = ("ema", "public_ema")
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler",)
    config: ConfigT

    @property
    def public_dataset(self) -> str | None:
        """The dataset of the public pre-training, or None."""
        return self.config.pretraining.dataset if self.config.pretraining.takes_place else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.pretraining.records

    @property
    def has_public_model(self) -> bool:
        """The moving average that public pre-training ended with."""
        return self.config.pretraining.takes_place
