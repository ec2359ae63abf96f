"""Streams: the cipher's own words, never two streams alike, and draws whose laws are exact or nearly so."""

import time
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from workbench.training.microbatch import Microbatch
from workbench.training.poisson import poisson_batch
from workbench.training.randomness import Randomness
from workbench.training.streams import Stream

RANDOMNESS = Randomness.from_seed(7)


class Scripted(Stream):
    """A stream that gives words handed in, then the cipher's."""

    def __init__(self, *words: int) -> None:
        super().__init__(bytes(32))
        self.script = np.array(words, dtype=np.uint64)

    def words(self, count: int) -> np.ndarray:
        """The script's next words, then others."""
        first, self.script = self.script[:count], self.script[count:]
        return np.concatenate([first, super().words(count - len(first))])


def test_words_are_chacha20s_keystream() -> None:
    expected = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"  # RFC 7539, A.1, first vector
    assert Stream(bytes(32)).read(32).hex() == expected
    assert Stream(bytes(32)).words(2).tobytes().hex() == expected[:32]
    with pytest.raises(ValueError, match="32 bytes"):
        Stream(bytes(16))


def test_a_stream_repeats_itself_and_goes_on() -> None:
    again = Randomness.from_checkpoint(RANDOMNESS.to_checkpoint())
    first, second = RANDOMNESS.stream("noise", 4, 2), again.stream("noise", 4, 2)
    assert np.array_equal(first.standard_normal(999), second.standard_normal(999))
    assert not np.intersect1d(first.words(1000), RANDOMNESS.stream("noise", 4, 2).words(1000)).size
    fresh = Randomness.from_checkpoint(Randomness.fresh().to_checkpoint())
    assert (again.seed, again.releasable, fresh.releasable) == (7, False, True), "a resumed state is as seeded as it was"


def test_no_two_streams_share_a_block() -> None:
    names = [("noise", step, index) for step in (0, 1, 2, 256, 2**32) for index in (0, 1, 2, 256, 2**32)]
    names += [("noise\x00", 0, 0), ("", 0, 0), ("Noise", 1, 0), ("phase two: noise", 1, 0), ("phase two: draws", 1, 0)]
    blocks = [RANDOMNESS.stream(*name).words(64) for name in names]
    blocks += [Randomness.from_seed(8).stream("noise").words(64), Randomness(bytes(16)).stream("noise").words(64)]
    assert len(np.unique(np.concatenate(blocks))) == 64 * len(blocks)


def test_a_record_is_drawn_with_at_most_the_probability_asked_for() -> None:
    chances = [0.3, 1e-3, 2.0**-60, 2.0**-64 * 5.9, 1 - 2.0**-53]
    for chance in chances:
        bar = int(chance * 2**64)  # exact: a power of two
        assert list(Scripted(bar - 1, bar, 0, 2**64 - 1).bernoulli(chance, 4)) == [True, False, True, False]
        assert bar / 2**64 <= chance
    assert Scripted(2**64 - 1).bernoulli(1.0, 1).all()
    assert not Scripted(0).bernoulli(2.0**-70, 1).any()


def test_integers_are_exactly_equally_likely() -> None:
    whole = 2**64 - 2**64 % 10  # words from here on are drawn again
    assert list(Scripted(whole, 9, whole + 1, 12, 13).integers(5, 15, 3)) == [7, 14, 8]
    assert list(Scripted(2**64 - 1, 0).integers(0, 2**62, 2)) == [2**62 - 1, 0]
    assert list(RANDOMNESS.stream("integers").integers(np.array([0, 1, 2]), 3, 3))[2] == 2
    counts = np.bincount(RANDOMNESS.stream("integers").integers(0, 7, 70_000), minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-6
    with pytest.raises(ValueError, match="above the low"):
        RANDOMNESS.stream("integers").integers(3, 3)


def test_every_ordered_choice_is_equally_likely() -> None:
    drawn = Counter(tuple(RANDOMNESS.stream("choice", step).choice(4, 3).tolist()) for step in range(12_000))
    assert set(drawn) == set(permutations(range(4), 3))
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-6


@pytest.mark.parametrize("count", [1, 2, 7, 784, 200_001])
def test_normals_are_normal(count: int) -> None:
    drawn = RANDOMNESS.stream("normals").standard_normal((count, 1))
    assert drawn.shape == (count, 1)
    assert drawn.dtype == np.float64
    if count > 1000:
        assert stats.kstest(drawn[:, 0], stats.norm.cdf).pvalue > 1e-6
        assert stats.kstest(drawn[:, 0] ** 2, stats.chi2(1).cdf).pvalue > 1e-6
        assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 6 / count**0.5
        halves = drawn[: count // 2 * 2, 0].reshape(2, -1)
        assert abs(np.corrcoef(halves)[0, 1]) < 6 / halves.shape[1] ** 0.5


def test_the_tail_reaches_beyond_that_of_24_bit_uniforms() -> None:
    tries = 2 * 2 // 3 + 8
    close = Scripted(*[2**40] * tries, *[0] * tries).standard_normal(2)  # x = 2^-23, y half a step of 2^-52
    assert close == pytest.approx([(4 * 23 * np.log(2)) ** 0.5] * 2)
    closest = Scripted(*[0] * (2 * tries)).standard_normal(2)
    assert np.hypot(closest[0], closest[0]) == pytest.approx((2 * 105 * np.log(2)) ** 0.5)  # 12 deviations, and finite


def test_uniforms_of_24_bits_stay_below_one_in_single_precision() -> None:
    assert Scripted(2**64 - 1).random(1, bits=24).astype(np.float32)[0] == 1 - 2**-24
    assert Scripted(2**64 - 1).random()[0] == 1 - 2**-53


def test_torch_generators_come_from_the_stream() -> None:
    first, second = RANDOMNESS.torch_generator("samples"), RANDOMNESS.torch_generator("samples")
    assert first.initial_seed() == second.initial_seed() != RANDOMNESS.torch_generator("samples", 1).initial_seed()


@pytest.mark.slow(depends=["workbench/training/**", "workbench/networks/**", "benchmarks/variants.py"])
def test_draws_take_under_a_tenth_of_a_private_step(figures: dict[str, Any]) -> None:
    """All that a step draws, beside the step of the same round: what else the machine does slows both alike."""
    from benchmarks.variants import Ours

    ours = Ours(base_channels=32, images=256, noise_multiplicity=1, microbatch_size=128)
    optimizer = ours.private.optimizer
    shapes = [tuple(p.shape) for p in optimizer.params]

    def step() -> None:
        ours.gradient()
        ours.finish()

    def draws() -> None:
        """A batch of 60 000 records, noise and time step of each record drawn, and the noise of every parameter."""
        poisson_batch(RANDOMNESS, "batch", 1, 60_000, ours.records / 60_000)
        for start in range(0, ours.records, ours.microbatch_size):
            records = np.arange(start, start + ours.microbatch_size)
            part = Microbatch(1, records, records, 1, RANDOMNESS, "draws", torch.device("cpu"))
            part.integers(1, 1000)
            part.normal((1, 28, 28))
        optimizer.accumulate()
        optimizer.add_noise()
        optimizer.zero_grad()

    def philox() -> None:
        """The parameters' noise as numpy's generator, which is no cipher, makes it."""
        generator = np.random.Generator(np.random.Philox(1))
        for shape in shapes:
            generator.standard_normal(shape, dtype=np.float32)

    step()  # which tries how records share passes, and warms up
    rounds = np.array([[seconds(part) for part in (step, draws, philox)] for _ in range(5)])
    shares = rounds[:, 1] / rounds[:, 0]
    figures["parameters"], figures["records"] = sum(p.numel() for p in optimizer.params), ours.records
    medians = np.median(rounds, axis=0).tolist()
    figures |= dict(
        zip(("step (s)", "all its draws (s)", "its noise by numpy's Philox (s)"), (round(value, 4) for value in medians), strict=True)
    )
    figures["draws over step, % of each round"] = ", ".join(f"{100 * share:.2f}" for share in shares)
    assert np.median(shares) < 0.1


def seconds(call: Callable[[], None]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
