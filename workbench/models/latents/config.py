"""Which latents a diffusion model learns, and the stage that makes their autoencoder. No torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

AUTOENCODER = "public autoencoder"  # the stage
MODULE = "autoencoder"  # its part of the state
FACTOR = 4  # a latent image has a quarter of the sides
SMALLEST = 4  # of a latent image


class Latents(OrdinaryTraining):
    """An autoencoder of public images, trained before anything else; private records only pass through its encoder, one by one."""

    switches: ClassVar[Switches] = {"channels": (0, 2)}

    channels: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Channels of the latents that the diffusion model learns, with a quarter of the sides; 0: pixels.",
    )
    width: int = Field(default=32, ge=4, le=512, description="Channels of the autoencoder's first layer.")
    steps: int = Field(default=1_000, ge=1, description="Steps on public images, which cost no privacy.")
    batch_size: int = Field(default=64, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's first learning rate.")

    @property
    def takes_place(self) -> bool:
        """Whether the diffusion model works on latents."""
        return self.channels > 0

    @property
    def released_models(self) -> tuple[str, ...]:
        """The part of the state that samples are decoded by, if there is one."""
        return (MODULE,) if self.takes_place else ()

    def learned(self, facts: DatasetFacts) -> DatasetFacts:
        """The facts about what the diffusion model learns, latents or the images themselves; refuses images that have no latents."""
        if not self.takes_place:
            return facts
        _, height, width = facts.shape
        if height % FACTOR or width % FACTOR or min(height, width) < FACTOR * SMALLEST:
            raise WorkbenchError(
                f"Expected sides of {FACTOR * SMALLEST} pixels or more, multiples of {FACTOR}, for latents, got {height}x{width}. "
                "Use latents.channels=0."
            )
        return facts.at_size((self.channels, height // FACTOR, width // FACTOR))

    def stages(self) -> list[Stage]:
        """The autoencoder's training (free), where there is one."""
        return [self.free_stage(AUTOENCODER)] if self.takes_place else []
