"""Shapes of networks: inert values that a method's Config embeds, without torch."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.errors import WorkbenchError


class UNetConfig(BaseModel):
    """Shape of a U-Net; the image's channels, size and classes come from the dataset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    patch_size: int = Field(
        default=1, ge=1, le=16, description="Side of the squares of pixels that become channels on the way in: 2 makes 28x28x1 14x14x4."
    )
    base_channels: int = Field(default=32, ge=8, le=512, multiple_of=4, description="Channels of the first level.")
    channel_multipliers: tuple[int, ...] = Field(default=(1, 2, 2), min_length=1, description="Channels of each level over base_channels.")
    num_res_blocks: int = Field(default=2, ge=1, le=8, description="Residual blocks a level going down; one more going up.")
    attention_resolutions: tuple[int, ...] = Field(default=(7,), description="Heights of the levels with self-attention.")
    num_heads: int = Field(default=1, ge=1, le=16, description="Attention heads.")

    @model_validator(mode="after")
    def _channels_fit(self) -> "UNetConfig":
        if min(self.channel_multipliers) < 1:
            raise ValueError(f"Expected channel_multipliers of at least 1, got {self.channel_multipliers}.")
        if any(self.base_channels * multiplier % self.num_heads for multiplier in self.channel_multipliers):
            raise ValueError(f"Expected num_heads to divide the channels of every level, got {self.num_heads}.")
        return self

    def check_patches(self, height: int, width: int) -> None:
        """Refuse images that patches don't fill."""
        if height % self.patch_size or width % self.patch_size:
            raise WorkbenchError(
                f"Expected images whose sides patches of {self.patch_size}x{self.patch_size} pixels fill, got {height}x{width}. "
                "Use network.patch_size=1."
            )


class TableNetworkConfig(BaseModel):
    """Shape of a denoiser of table rows; columns and categories come from the dataset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden_width: int = Field(
        default=128, ge=0, le=4096, description="Width of the hidden layers beside the linear map of rows; 0 leaves the map alone."
    )
    num_layers: int = Field(default=2, ge=0, le=16, description="Hidden layers, each beside a skip.")
    time_features: int = Field(default=32, ge=2, le=512, multiple_of=2, description="Cosines and sines that tell the time step.")


class CriticConfig(BaseModel):
    """Shape of a critic of images; their channels, size and classes come from the dataset. No layer of it mixes records."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    blocks: int = Field(default=2, ge=0, le=6, description="Convolutions that halve the image, each with twice the channels; 0 for none.")
    width: int = Field(default=16, ge=1, le=1024, description="Channels of the first convolution.")
    kernel_size: Literal[3, 5] = Field(default=3, description="Side of the convolutions, in pixels.")
    hidden_layers: int = Field(default=1, ge=0, le=6, description="Dense layers behind the convolutions, before the score.")
    hidden_size: int = Field(default=64, ge=1, le=10_000, description="Units of each.")
    normalization: Literal["none", "group"] = Field(
        default="none", description="Group normalisation behind the convolutions but the first, or none; never over a batch."
    )
    label: Literal["joined", "projected"] = Field(
        default="joined",
        description="The class beside the input, as constant channels, or in a product with the last features beside the score.",
    )

    @model_validator(mode="after")
    def _has_features(self) -> "CriticConfig":
        if not self.blocks and not self.hidden_layers:
            raise ValueError("Expected a critic of some layer, got no block and no hidden layer. Use hidden_layers=1.")
        return self


UNETS: dict[str, UNetConfig] = {
    "tiny": UNetConfig(base_channels=12, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(4,)),
    "digits": UNetConfig(base_channels=16, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(4,)),
    "patches-28": UNetConfig(patch_size=2, base_channels=32, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(7,)),
    "patches-28-wide": UNetConfig(patch_size=2, base_channels=64, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(7,)),
    "colour-16": UNetConfig(base_channels=32, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(8,)),
    "colour-32": UNetConfig(base_channels=32, channel_multipliers=(1, 2, 2), attention_resolutions=(8,)),
    "colour-64": UNetConfig(base_channels=32, channel_multipliers=(1, 2, 2, 2), num_res_blocks=1, attention_resolutions=(8,)),
    "paper-28": UNetConfig(base_channels=32, channel_multipliers=(1, 2, 2), attention_resolutions=(7,)),
    "paper-28-wide": UNetConfig(base_channels=64, channel_multipliers=(1, 2, 2), attention_resolutions=(7,)),
    "paper-32": UNetConfig(base_channels=128, channel_multipliers=(1, 2, 2, 2), attention_resolutions=(16,)),
}


def default_unet(shape: tuple[int, ...]) -> str:
    """Name in UNETS of the network that suits images of `shape` (C, H, W), of at most 2 million parameters.

    dp-promise's own network for colour images has 35 million ("paper-32"); its published presets name it.
    """
    channels, height = shape[0], shape[1]
    if channels == 1 or height < 16:
        return "digits" if height <= 16 else "paper-28"
    return "colour-16" if height == 16 else "colour-32" if height <= 32 else "colour-64"
