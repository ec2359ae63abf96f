"""A checkpoint's files: whatever is cut short, damaged or gone, a run goes on from one of them, bit for bit; in the end none is left."""

import errno
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from training.test_checkpoints import new_state, train

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.training.checkpoint_files import ERASING, PREVIOUS, WRITTEN, beside, erase_all, is_there
from workbench.training.checkpoints import load_checkpoint, save_checkpoint
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State, load_saved

STEPS = 2
CALLS = ("open", "fsync", "replace", "unlink")


class Crashed(BaseException):
    """Stands in for SIGKILL."""


def seeded() -> State:
    state = new_state(PerformanceSettings(microbatch_size=30))  # how one is found is test_checkpoints' matter
    state.randomness = Randomness.from_seed(3)
    return state


def go_on(state: State, path: Path) -> Tensor:
    """The remaining steps, with a checkpoint before the first and after each, as a run has them."""
    save_checkpoint(state, path)
    weights = train(state, state.steps.get("private", 0))
    for step in range(state.steps.get("private", 0) + 1, STEPS + 1):
        weights = train(state, step)
        save_checkpoint(state, path)
    return weights


def failing(number: int, error: Callable[[], BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the `number`-th call to the file system that opens, flushes, renames or removes raise `error`."""
    made = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made == number:
                raise error()
            return real(*arguments, **named)

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, counted(getattr(os, name)))


@pytest.mark.parametrize("error", [Crashed, lambda: OSError(errno.EIO, "Input/output error"), lambda: OSError(errno.ENOSPC, "full")])
def test_cut_short_before_any_file_operation_it_goes_on_to_the_same_bits(
    error: Callable[[], BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = go_on(seeded(), tmp_path / "whole.pt")
    for number in count(1):
        path = tmp_path / f"{number}.pt"
        save_checkpoint(seeded(), path)
        with monkeypatch.context() as patched:
            failing(number, error, patched)
            try:
                go_on(seeded(), path)
            except (Crashed, OSError):
                pass
            else:
                break
        resumed = seeded()
        load_checkpoint(resumed, path)
        assert torch.equal(go_on(resumed, path), expected), number
        assert not beside(path, WRITTEN).exists(), number
        assert not beside(path, ERASING).exists(), number
        erase_all(path)
        assert not list(tmp_path.glob(f"{number}.pt*")), number
    assert number > 20


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


DAMAGE: dict[str, Callable[[Path], object]] = {
    "flipped": flipped,
    "cut": cut,
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_one_falls_back_to_the_one_before(damage: str, tmp_path: Path) -> None:
    path, state = tmp_path / "checkpoint.pt", seeded()
    expected = go_on(seeded(), tmp_path / "whole.pt")
    for step in (1, 2):
        train(state, step)
        save_checkpoint(state, path)
    DAMAGE[damage](path)
    resumed = seeded()
    loaded = load_checkpoint(resumed, path)
    assert (resumed.steps, loaded.differences, bool(loaded.damage)) == ({"private": 1}, [], True)
    assert load_saved(path, sealed=True)["state"]["steps"] == {"private": 1}, "it took the damaged one's place"
    assert not beside(path, PREVIOUS).exists()
    assert torch.equal(go_on(resumed, path), expected)


@pytest.mark.parametrize("damage", DAMAGE)
def test_two_damaged_ones_are_both_named(damage: str, tmp_path: Path) -> None:
    path, state = tmp_path / "checkpoint.pt", seeded()
    for _ in range(2):
        save_checkpoint(state, path)
    DAMAGE[damage](path)
    flipped(beside(path, PREVIOUS))
    with pytest.raises(DamagedFileError, match=r"checkpoint\.pt.* checkpoint\.pt\.previous as it was written"):
        load_checkpoint(seeded(), path)
    assert beside(path, PREVIOUS).exists(), "what is damaged is left for a person to look at"


def test_another_run_s_checkpoint_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(seeded(), path, run="one")
    save_checkpoint(seeded(), path, run="other")
    with pytest.raises(WorkbenchError, match="got that of run 'other'"):
        load_checkpoint(seeded(), path, run="one")
    assert beside(path, PREVIOUS).exists()


def test_what_the_disk_does_not_give_back_takes_no_one_s_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(seeded(), path)
    before = path.read_bytes()
    real = os.fsync

    def losing(descriptor: int) -> None:
        real(descriptor)
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(WRITTEN):
            os.pwrite(descriptor, b"\xff", 100)

    monkeypatch.setattr(os, "fsync", losing)
    with pytest.raises(DamagedFileError, match="written as it was written"):
        save_checkpoint(seeded(), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_checkpoint_with_another_key_leaves_none_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    for _ in range(2):
        save_checkpoint(new_state(), path)
    save_checkpoint(new_state(), path, keep_previous=False)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_every_replaced_or_erased_checkpoint_is_overwritten(tmp_path: Path) -> None:
    """Seen through second names of the same blocks."""
    path = tmp_path / "checkpoint.pt"
    for number in range(3):
        save_checkpoint(new_state(), path)
        (tmp_path / f"blocks {number}").hardlink_to(path)
    assert not any((tmp_path / "blocks 0").read_bytes())
    assert all(any((tmp_path / f"blocks {number}").read_bytes()) for number in (1, 2))
    assert is_there(path)
    erase_all(path)
    assert not is_there(path)
    assert not any(any((tmp_path / f"blocks {number}").read_bytes()) for number in (1, 2))
