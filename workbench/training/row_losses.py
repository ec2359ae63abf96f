"""Losses that are row by row by their making: everything around the network runs one row at a time under `torch.func.vmap`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from workbench.training.microbatch import Microbatch
from workbench.training.per_record.rows import each_row


@dataclass(frozen=True)
class RowLosses:
    """What `PrivateStep` takes as losses where many records are to share a pass.

    `data` are the batch's tensors, (N, ...), the row of a record made from that record alone. `draw` makes random tensors,
    rows first, and sees no record. `inputs(*data, *drawn)` are the network's arguments, a tuple, and
    `loss(output, *data, *drawn)` is one value a row: both get a single row, as a batch of one, and may read no record but it.
    """

    network: Callable[..., Tensor]
    data: tuple[Tensor, ...]
    draw: Callable[[Microbatch], tuple[Tensor, ...]]
    inputs: Callable[..., tuple[Tensor, ...]]
    loss: Callable[..., Tensor]

    def __call__(self, part: Microbatch) -> Tensor:
        """One loss per row of the microbatch, (R K,)."""
        rows: list[Any] = [values[part.rows.to(values.device)] for values in self.data]
        rows += self.draw(part)
        output = self.network(*each_row(self.inputs)(*rows))
        return each_row(self.loss)(output, *rows)
