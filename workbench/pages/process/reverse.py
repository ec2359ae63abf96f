"""The panel of the reverse process."""

from collections.abc import Sequence

import streamlit as st

from workbench.pages.process.choices import validated_choices
from workbench.teaching.reverse import DRAWN, Film, ReverseChoices, by_guidance, by_sampler
from workbench.ui.formats import number
from workbench.ui.gallery import sheet
from workbench.ui.parts import Beside, Part, Pictures, Words

TITLE = "The reverse process"
LEAD = "How does a sampler turn noise into a digit, and what does guidance change?"
IDEAL = (
    "Nothing is trained: the noise in a picture is predicted by its exact formula, where each class of digits is a Gaussian with the mean "
    "and covariance of the training records. Samplers and guidance are the workbench's own. No noise protects these records: the bundled "
    "digits are public."
)
SAYS = (
    "Guidance pushes samples away from what all classes share. They look more like their class, and more like each other: the spread, the "
    "mean distance of two samples, falls."
)


def choose(prefix: str) -> ReverseChoices:
    """Digit, sampler, guidance, steps and the noise to start from."""
    digit, sampler, guidance, steps, seed = st.columns([1, 1.4, 1, 1, 1])
    return validated_choices(
        ReverseChoices,
        digit=digit.selectbox("Digit", list(range(10)), 3, key=f"{prefix}digit", bind="query-params"),
        sampler=sampler.selectbox("Sampler", ["ddim", "ddpm", "dpm-solver++"], key=f"{prefix}sampler", bind="query-params"),
        guidance_scale=guidance.number_input("Guidance", 0.0, 20.0, 1.0, 0.5, format="%g", key=f"{prefix}guidance", bind="query-params"),
        steps=steps.number_input("Steps", 2, 200, 20, key=f"{prefix}steps", bind="query-params"),
        seed=seed.number_input("Noise number", 0, 10_000, 0, key=f"{prefix}seed", bind="query-params"),
    )


def parts(choices: ReverseChoices) -> list[Part]:
    """A film strip for each guidance scale, and one for each sampler."""
    return [
        Words(f"By guidance, with {choices.sampler}", is_heading=True),
        *films(by_guidance(choices)),
        Words(SAYS),
        Words(f"By sampler, at guidance {choices.guidance_scale:g}", is_heading=True),
        *films(by_sampler(choices)),
        Words(IDEAL),
    ]


def films(all_films: Sequence[Film]) -> list[Part]:
    """The strips, beside them samples of the same settings, and what these are like."""
    times = ", ".join(map(str, all_films[0].times))
    strips = [(one.name, sheet(one.frames, len(one.frames), 48)) for one in all_films]
    samples = [(f"{one.name}: {film_words(one)}", sheet(one.samples, DRAWN, 48)) for one in all_films]
    return [
        Beside(
            [
                [Words(f"One sample on its way, at t = {times}."), Pictures(strips, "From noise to a digit")],
                [Words(f"{DRAWN} samples of the same settings."), Pictures(samples, "Samples")],
            ]
        )
    ]


def film_words(one: Film) -> str:
    """How clear samples are, and how much they differ."""
    return f"10^{one.margin:.0f} times likelier as this digit than as others; spread {number(one.spread)}"
