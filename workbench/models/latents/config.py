"""Which latents a diffusion model learns, and the stage that makes their autoencoder. No torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field, model_validator

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
FROM_FILE = "By the user's word no private record trained the network in this file; nothing here bounds what it shows of those that did."


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


class ScaledLatents(Latents):
    """The same with one scale factor from public images (Rombach et al. 2022, G), and perhaps an autoencoder that somebody trained before.

    A file is known by its SHA-256, which is checked before a byte of it is interpreted. That no private record trained its network is the
    user's word, which a plan repeats.
    """

    channels: int = Field(
        default=4,
        ge=0,
        le=64,
        description="Channels of the latents that the diffusion model learns, with a quarter of the sides; 0: pixels.",
    )
    width: int = Field(default=16, ge=4, le=512, description="Channels of the autoencoder's first layer.")
    file: str = Field(
        default="",
        description="A safetensors file with the weights of an autoencoder that public images alone trained; empty trains one here.",
    )
    sha256: str = Field(default="", pattern="^([0-9a-f]{64})?$", description="The file's SHA-256 in hexadecimal digits; with a file alone.")

    @model_validator(mode="after")
    def _a_file_has_a_fingerprint(self) -> Self:
        if bool(self.file) != bool(self.sha256):
            given, other = ("file", "sha256") if self.file else ("sha256", "file")
            raise ValueError(f"Expected latents.{other} beside latents.{given}: a file is loaded by its SHA-256 alone.")
        return self

    @property
    def trains(self) -> bool:
        """Whether the autoencoder is trained here."""
        return self.takes_place and not self.file

    @property
    def stage_name(self) -> str:
        """The stage that brings the autoencoder; of a file it has the file's name and fingerprint."""
        return f"{AUTOENCODER} from {Path(self.file).name} (SHA-256 {self.sha256})" if self.file else AUTOENCODER

    def learned(self, facts: DatasetFacts) -> DatasetFacts:
        """As for any latents; refuses a file that nothing would be done with."""
        if self.file and not self.takes_place:
            raise WorkbenchError("Expected latents that the autoencoder of latents.file makes, got pixels. Use latents.channels=4.")
        return super().learned(facts)

    def stages(self) -> list[Stage]:
        """The autoencoder's training or loading (free), where there is one."""
        from workbench.privacy.accounting.stages import Stage

        if self.trains:
            return super().stages()
        return [Stage(self.stage_name, None, "free", reason=FROM_FILE)] if self.takes_place else []
