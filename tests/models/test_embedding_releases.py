"""What share of a released embedding is noise, where noise and signal are known."""

import pytest
import torch

from workbench.models.embeddings.releases import class_share_of_noise, share_of_noise

FEATURES, CLASSES, RECORDS, DEVIATION = 400, 5, 100, 3.0


def released(between: float, shared: float = 20.0) -> torch.Tensor:
    """A mean that all classes share, differences between classes of norm `between` a class, and noise."""
    draw = torch.Generator().manual_seed(0)
    common = torch.randn(FEATURES, 1, generator=draw)
    apart = torch.linalg.qr(torch.randn(FEATURES, CLASSES, generator=draw))[0]
    noise = torch.randn(FEATURES, CLASSES, generator=draw) * DEVIATION / RECORDS
    return shared * common / common.norm() + between * apart + noise


def test_noise_alone_is_all_noise() -> None:
    assert class_share_of_noise(released(0.0), DEVIATION, RECORDS) == pytest.approx(1.0, abs=0.03)
    assert share_of_noise(released(0.0, 0.0), DEVIATION, RECORDS) == pytest.approx(1.0, abs=0.05)


def test_what_classes_share_hides_noise_in_the_whole_and_not_in_what_differs() -> None:
    """Differences of norm b have (K - 1) b^2 beside (F - 1)(K - 1) s^2 of noise, nearly: the shared mean takes little of them."""
    expected = (FEATURES - 1) * (DEVIATION / RECORDS) ** 2
    for between in (0.5, 2.0):
        share = class_share_of_noise(released(between), DEVIATION, RECORDS)
        assert share == pytest.approx(expected / (expected + between**2), rel=0.05)
        assert share_of_noise(released(between), DEVIATION, RECORDS) < 0.01


def test_of_one_class_nothing_differs() -> None:
    assert class_share_of_noise(torch.ones(FEATURES, 1), DEVIATION, RECORDS) is None
