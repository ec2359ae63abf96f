"""Scattering features (Bruna and Mallat 2013): moduli of Morlet wavelets' responses, twice over, averaged over squares.

An image is mirrored at its borders. Channels are joined under each modulus, so that no colour is told from another by its responses;
what it has of colour are the channels' own averages. Features are scaled to norm 1 but for a constant, and with them contrast is left out.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

CHUNK = 250  # images in one pass
CENTRE, WIDTH = 0.75 * math.pi, 0.8  # frequency and width, in pixels, of the finest wavelet
LEAST_NORM = 1e-3


@dataclass(frozen=True)
class Scattering:
    """The transform of images of `size` (H, W) by wavelets of so many octaves and orientations, averaged over cells x cells squares."""

    size: tuple[int, int]
    octaves: int
    orientations: int
    cells: int

    @property
    def margin(self) -> int:
        """Pixels that an image is mirrored by on each side."""
        return min(2**self.octaves, *(side - 1 for side in self.size))

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Features float64 (N, F) of norm at most 1 of images uint8 (N, C, H, W)."""
        parts = [self._transformed(part) for part in torch.split(torch.from_numpy(images), CHUNK)]
        features = torch.cat(parts).double().numpy()
        return features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), LEAST_NORM)

    def _transformed(self, images: Tensor) -> Tensor:
        """Averages, responses, and responses of responses to wider wavelets: (B, F)."""
        pixels = images.float() / 255
        spectra = torch.fft.fft2(functional.pad(pixels, [self.margin] * 4, mode="reflect"))
        averages = [self._averaged_maps(pixels)]
        for octave in range(self.octaves):
            for wavelet in self._wavelets(octave):
                response = modulus(spectra, wavelet)
                averages.append(self._averaged_maps(self._without_padding(response)))
                again = torch.fft.fft2(response)
                for wider in range(octave + 1, self.octaves):
                    averages += [self._averaged_maps(self._without_padding(modulus(again, other))) for other in self._wavelets(wider)]
        return torch.cat(averages, dim=1)

    def _wavelets(self, octave: int) -> Tensor:
        """Those of an octave, in frequencies: complex (orientations, H + 2 margin, W + 2 margin)."""
        sides = (self.size[0] + 2 * self.margin, self.size[1] + 2 * self.margin)
        return morlets(sides, octave, self.orientations)

    def _without_padding(self, padded: Tensor) -> Tensor:
        """The image's own pixels of responses (B, 1, ...)."""
        (height, width), margin = self.size, self.margin
        return padded[..., margin : margin + height, margin : margin + width]

    def _averaged_maps(self, maps: Tensor) -> Tensor:
        """Maps (B, C, H, W) averaged over squares, (B, C * cells^2)."""
        return functional.adaptive_avg_pool2d(maps, self.cells).flatten(1)


def modulus(spectra: Tensor, wavelet: Tensor) -> Tensor:
    """The root (B, 1, H, W) of the channels' squared responses to a wavelet, of spectra (B, C, H, W)."""
    return torch.fft.ifft2(spectra * wavelet).abs().square().sum(1, keepdim=True).sqrt()


@lru_cache(maxsize=64)
def morlets(size: tuple[int, int], octave: int, orientations: int) -> Tensor:
    """Morlet wavelets in frequencies, complex64 (orientations, *size): a wave under a bell, less the bell that makes its mean zero."""
    return torch.stack([_morlet(size, octave, math.pi * turn / orientations, 4 / orientations) for turn in range(orientations)])


def _morlet(size: tuple[int, int], octave: int, angle: float, slant: float) -> Tensor:
    """One of them, in pixels wrapped around and then in frequencies; `slant` is the bell's width along the wave over that across."""
    width, frequency = WIDTH * 2**octave, CENTRE / 2**octave
    bell, wave = np.zeros(size), np.zeros(size, complex)
    rows, columns = np.meshgrid(*(np.arange(side) - side // 2 for side in size), indexing="ij")
    for down in range(-2, 3):
        for right in range(-2, 3):
            y, x = rows + down * size[0], columns + right * size[1]
            along, across = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
            part = np.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))
            bell, wave = bell + part, wave + part * np.exp(1j * frequency * along)
    wavelet = (wave - bell * (wave.sum() / bell.sum())) * slant / (2 * math.pi * width**2)
    return torch.from_numpy(np.fft.fft2(np.fft.ifftshift(wavelet))).to(torch.complex64)
