"""Images of one size: uint8, grey or in colour."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from PIL import Image
from pydantic import Field

from workbench.records.base import RecordKind, Records

PREVIEW_PIXELS = 64  # least side of an image in a preview


class ImageKind(RecordKind):
    """Images uint8 (C, H, W)."""

    noun: ClassVar[str] = "images"
    feature_label: ClassVar[str] = "pixels"
    array_name: ClassVar[str] = "images"
    preview_file: ClassVar[str] = "latest.png"

    name: Literal["image"] = "image"
    size: tuple[int, int, int] = Field(description="(C, H, W); pictures are made of 1 channel (grey) or 3 (colour).")

    @property
    def shape(self) -> tuple[int, ...]:
        """(C, H, W)."""
        return self.size

    def complaint(self, records: np.ndarray) -> str:
        """Another type than uint8: the bound rests on the range."""
        if records.dtype == np.uint8:
            return ""
        return f"Expected images of type uint8, got {records.dtype}. Convert them: the bound rests on their range."

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Every pixel evenly over 0 to 255."""
        return generator.integers(0, 256, (count, *self.size), dtype=np.uint8)

    def features(self, records: np.ndarray) -> np.ndarray:
        """Pixels over 255."""
        return records.reshape(len(records), -1).astype(np.float32) / 255.0

    def preview(self, records: Records, classes: Sequence[str]) -> bytes:
        """A PNG of all images, ten in a row."""
        return png(grid(records.records))

    def html(self, record: np.ndarray, text: str) -> str:
        """A picture that is its own file, and the text as its description and below it."""
        return f'<img src="{png_data_uri(record)}" alt="{text}">{text}'

    def to_arrays(self, records: np.ndarray) -> dict[str, np.ndarray]:
        """`images` uint8 (N, H, W, C)."""
        return {self.array_name: records.transpose(0, 2, 3, 1)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """uint8 (N, C, H, W)."""
        return np.ascontiguousarray(arrays[cls.array_name].transpose(0, 3, 1, 2))


def grid(images: np.ndarray, columns: int = 10) -> Image.Image:
    """uint8 images (N, C, H, W), C of 1 or 3, as one picture of `columns` columns, enlarged by a whole factor."""
    count, channels, height, width = images.shape
    rows = -(-count // columns)
    padded = np.full((rows * columns, channels, height + 1, width + 1), 255, np.uint8)
    padded[:count, :, :height, :width] = images
    tiles = padded.reshape(rows, columns, channels, height + 1, width + 1).transpose(0, 3, 1, 4, 2)  # (rows, H, columns, W, C)
    joined = tiles.reshape(rows * (height + 1), -1, channels)
    factor = max(1, -(-PREVIEW_PIXELS // height))
    picture = Image.fromarray(joined[..., 0] if channels == 1 else joined)
    return picture.resize((picture.width * factor, picture.height * factor), Image.Resampling.NEAREST)


def png(picture: Image.Image) -> bytes:
    """The picture as the content of a PNG."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return buffer.getvalue()


def png_data_uri(image: np.ndarray) -> str:
    """A uint8 image (C, H, W) with 1 or 3 channels as a `data:` address."""
    pixels = image[0] if image.shape[0] == 1 else np.moveaxis(image, 0, -1)
    return f"data:image/png;base64,{base64.b64encode(png(Image.fromarray(np.ascontiguousarray(pixels)))).decode()}"
