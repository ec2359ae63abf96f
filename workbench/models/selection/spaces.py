"""Where a record finds the candidate nearest to it: spaces of whole numbers, in which distances are exact.

A record's vote must be its own: were a sum rounded, the number of other records beside it in a batch could decide between two
candidates that are almost equally near, and one record could move more than one vote. So features are rounded to integers
of at most 2^16, in float64, where what is compared, a square less twice a product, is exact in any order for up to 2^19 of them.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from workbench import networks
from workbench.errors import WorkbenchError
from workbench.models.reframing import in_standard_frame
from workbench.records import Records

LARGEST = 2**16
WEIGHT = 2**12  # what a blur's integer weights sum to along one side
PER_PIXEL = 2**8  # steps of a pixel's value: 255 * 2^8 < 2^16
MOST_DIMENSIONS = 2**19  # |t|^2 - 2 f.t is at most 3 2^32 of each, 1.5 2^52 together
CHUNK_BYTES = 2**27

Space = Callable[[Tensor], Tensor]  # uint8 images (N, C, H, W) -> integers as float64 (N, D)


def blurred_pixels(deviation: float, height: int, width: int, device: torch.device) -> Space:
    """Pixels after a Gaussian blur of `deviation` pixels; outside the image it is black."""
    down, right = (torch.from_numpy(blur_matrix(deviation, side)).to(device) for side in (height, width))

    def space(images: Tensor) -> Tensor:
        return torch.floor(down @ images.double() @ right.T / (WEIGHT**2 / PER_PIXEL)).flatten(1)

    return space


def in_standard_frames(space: Space) -> Space:
    """`space` of images that were each brought to the standard frame, rounded to whole pixel values as before."""

    def framed(images: Tensor) -> Tensor:
        found, _ = in_standard_frame(images.cpu().numpy())
        return space(torch.from_numpy((found * 255.0).round().astype(np.uint8)).to(images.device))

    return framed


def blur_matrix(deviation: float, side: int) -> np.ndarray:
    """Integer weights (side, side) as float64, rows and columns of sum at most WEIGHT, by which a side is blurred."""
    if deviation == 0:
        return WEIGHT * np.eye(side)
    apart = np.arange(-3 * side, 3 * side + 1)
    weights = np.exp(-(apart**2) / (2 * deviation**2))
    weights = np.rint(weights * (WEIGHT / weights.sum()))
    weights[3 * side] += WEIGHT - weights.sum()
    places = np.arange(side)
    return weights[places[:, None] - places + 3 * side]


def classifier_features(network: networks.SmallCNN, scale: float) -> Space:
    """The layer that a classifier of public images sees last, over `scale`, a public constant; what is beyond 1 counts as 1."""
    network = network.eval()

    def space(images: Tensor) -> Tensor:
        with torch.no_grad():
            features = network.features(images.float() / 127.5 - 1.0).double()
        return torch.floor((features / scale).clamp(-1, 1) * (LARGEST - 1))

    return space


def largest_feature(network: networks.SmallCNN, images: Tensor) -> float:
    """The largest value that the last layer sees of public images uint8 (N, C, H, W)."""
    with torch.no_grad():
        return float(network.eval().features(images.float() / 127.5 - 1.0).abs().max()) or 1.0


def count_votes(space: Space, candidates: Tensor, data: Records, choices: int) -> np.ndarray:
    """How many records of each class have each of its candidates among the `choices` that are nearest to them: int64 (classes, M).

    `candidates` is uint8 (classes, M, C, H, W); records without labels are of class 0, and null records don't vote. A record's
    features are made among those that stand around it in the dataset, whatever their labels.
    """
    classes, number = candidates.shape[:2]
    counts = np.zeros((classes, number), np.int64)
    targets = [space(images).float() for images in candidates]  # whole numbers below 2^24: exact
    labels = np.zeros(len(data), np.int64) if data.labels is None else data.labels
    voters = np.where(data.mask, labels, -1)
    size = max(1, CHUNK_BYTES // (8 * (2 * targets[0].shape[1] + number)))
    for start in range(0, len(data), size):
        part = slice(start, start + size)
        features = space(torch.from_numpy(data.records[part]).to(candidates.device))
        for label in np.unique(voters[part][voters[part] >= 0]):
            chosen = features[torch.from_numpy(voters[part] == label).to(features.device)]
            counts[label] += np.bincount(nearest(chosen, targets[label].double(), choices).flatten().cpu().numpy(), minlength=number)
    return counts


def nearest(features: Tensor, targets: Tensor, choices: int) -> Tensor:
    """The nearest `choices` targets (M, D) of each row of features (N, D), both whole numbers of at most 2^16 in float64: (N, choices)."""
    if features.shape[1] > MOST_DIMENSIONS:
        raise WorkbenchError(f"Expected at most 2^19 features to find the nearest by, got {features.shape[1]}. Use smaller images.")
    return (targets.square().sum(1) - 2 * features @ targets.T).topk(choices, dim=1, largest=False, sorted=False).indices
