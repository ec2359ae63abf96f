"""Carry out a lesson: what its decks and its tests have in common."""

import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from traitlets import Type

SLICE = 1.0  # seconds


class SlicedChannel(AsyncZMQSocketChannel):
    """A channel that asks its socket anew every second.

    ZeroMQ says once that a message is there, and asyncio may miss it: then `get_msg` returns a message that came at once only when its
    whole timeout is over, which here is the time that a cell may take.
    """

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message, or Empty where none comes within `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE if end is None else min(SLICE, end - time.monotonic())
            try:
                return await super().get_msg(max(0.0, left))
            except Empty:
                if end is not None and time.monotonic() >= end:
                    raise


class Client(AsyncKernelClient):
    """A kernel's client whose answers come through such channels."""

    shell_channel_class = Type(SlicedChannel)
    iopub_channel_class = Type(SlicedChannel)


class Manager(AsyncKernelManager):
    """A kernel's manager with such a client."""

    client_factory = Type(Client)


def carry_out(notebook: nbformat.NotebookNode, folder: Path, seconds: int, command: Sequence[str] = ()) -> None:
    """Run every cell in a fresh kernel in `folder` and put its outputs into `notebook`; each may take `seconds`.

    `command` starts the kernel, with `{connection_file}` where its file's name belongs; by default as Jupyter does.

    Raises nbclient's CellExecutionError where a cell fails, and its CellTimeoutError where one takes longer.
    """
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=seconds, kernel_name="python3", resources=where, kernel_manager_class=Manager)
    if command:
        client.create_kernel_manager()
        client.km.kernel_spec.argv = list(command)
    client.execute()
