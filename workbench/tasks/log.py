"""A worker's log on a disk that may be full: what finds no room in it is lost, and the work goes on."""

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from workbench.files import full_disk


class ForgivingFile:
    """A text file whose writers do not hear of a full disk."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write what there is room for."""
        try:
            return self._file.write(text)
        except OSError as error:
            return _forgiven(error)

    def flush(self) -> None:
        """Hand on what is buffered, where there is room for it."""
        try:
            self._file.flush()
        except OSError as error:
            _forgiven(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def forgiving_log(output: TextIO, errors: TextIO) -> Iterator[None]:
    """Within the block, what is printed to `output` and `errors` stops no work where the disk is full."""
    with redirect_stdout(cast(TextIO, ForgivingFile(output))), redirect_stderr(cast(TextIO, ForgivingFile(errors))):
        yield


def _forgiven(error: OSError) -> int:
    if not full_disk(error):
        raise error
    return 0
