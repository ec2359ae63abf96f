"""Networks: the U-Net, its moving average and adapters, a generator, a critic, a denoiser of tables, small and residual classifiers.

Networks are loaded on first use, so that their configurations need no torch.
"""

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names
from workbench.networks.config import UNETS, CriticConfig, TableNetworkConfig, UNetConfig, default_unet

if TYPE_CHECKING:
    from workbench.networks.classifiers import MLP, SmallCNN
    from workbench.networks.critic import Critic
    from workbench.networks.ema import ExponentialMovingAverage
    from workbench.networks.generator import ConditionalGenerator
    from workbench.networks.initialization import initialized
    from workbench.networks.low_rank import LowRank, adapter_parameters, add_adapters
    from workbench.networks.noisy_classifier import NoisyClassifier
    from workbench.networks.residual import resnet, resnext, wide_resnet
    from workbench.networks.row_by_row import ROW_BY_ROW
    from workbench.networks.table_denoiser import TableDenoiser
    from workbench.networks.unet import UNet

_NAMES = {
    "MLP": "classifiers",
    "SmallCNN": "classifiers",
    "Critic": "critic",
    "ExponentialMovingAverage": "ema",
    "ConditionalGenerator": "generator",
    "ROW_BY_ROW": "row_by_row",
    "LowRank": "low_rank",
    "adapter_parameters": "low_rank",
    "add_adapters": "low_rank",
    "NoisyClassifier": "noisy_classifier",
    "TableDenoiser": "table_denoiser",
    "initialized": "initialization",
    "UNet": "unet",
    "resnet": "residual",
    "resnext": "residual",
    "wide_resnet": "residual",
}

__all__ = [
    "MLP",
    "ROW_BY_ROW",
    "UNETS",
    "ConditionalGenerator",
    "Critic",
    "CriticConfig",
    "ExponentialMovingAverage",
    "LowRank",
    "NoisyClassifier",
    "SmallCNN",
    "TableDenoiser",
    "TableNetworkConfig",
    "UNet",
    "UNetConfig",
    "adapter_parameters",
    "add_adapters",
    "default_unet",
    "initialized",
    "resnet",
    "resnext",
    "wide_resnet",
]

__getattr__, __dir__ = lazy_names(__name__, __all__, names=_NAMES)
