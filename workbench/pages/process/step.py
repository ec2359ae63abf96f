"""The panel of one private step."""

import numpy as np
import pandas as pd
import streamlit as st
from scipy.stats import norm

from workbench.pages.process.choices import validated_choices
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.teaching.base import DELTA
from workbench.teaching.one_step import PUBLIC_STEPS, RECORDS, PrivateStepApart, StepChoices, take_apart
from workbench.ui import charts
from workbench.ui.formats import deviations, number
from workbench.ui.gallery import sheet
from workbench.ui.parts import Beside, Chart, Part, Pictures, Words
from workbench.ui.theme import BLUE, GREY, ORANGE, VERMILION
from workbench.ui.words import explained

TITLE = "One private step"
LEAD = "What do clipping and noise do to the gradients of real records, and how far can one record move the result?"
POINTS = 121


def choose(prefix: str) -> StepChoices:
    """Clipping norm, noise, and the record that the neighbor is without."""
    clip, noise, left_out = st.columns(3)
    return validated_choices(
        StepChoices,
        max_grad_norm=clip.number_input(
            "Clipping norm C", 0.01, 10.0, 1.0, 0.25, format="%g", key=f"{prefix}clip", bind="query-params",
            help=explained("clipping norm"),
        ),
        noise_multiplier=noise.number_input(
            "Noise multiplier", 0.1, 20.0, 1.0, 0.25, format="%g", key=f"{prefix}noise", bind="query-params",
            help=explained("noise multiplier", "In every direction."),
        ),
        left_out=left_out.number_input(
            "Record that the neighbor is without", 0, RECORDS - 1, 0, key=f"{prefix}record", bind="query-params"
        ),
    )  # fmt: skip


def parts(choices: StepChoices) -> list[Part]:
    """Norms by record, sum and noise, and the two sums along what one record adds."""
    step = take_apart(choices)
    return [
        Pictures([("", sheet(step.images, RECORDS, 32))], f"The {RECORDS} records of the batch, from number 0"),
        Beside(
            [
                [
                    Words("1. Each record's gradient, clipped", is_heading=True),
                    norms_chart(step, choices),
                    Words(clipped_words(step, choices)),
                ],
                [
                    Words(f"2. The sum, with noise, with and without record {choices.left_out}", is_heading=True),
                    neighbours_chart(step, choices),
                    Words(noise_words(step, choices)),
                ],
            ]
        ),
    ]


def norms_chart(step: PrivateStepApart, choices: StepChoices) -> Chart:
    """Bars side by side, a pair a record, and the clipping norm."""
    figure, places = charts.empty_figure("Record", "Norm of the gradient"), list(range(RECORDS))
    figure.add_bar(
        x=places, y=step.norms.tolist(), name="before clipping", offsetgroup="before", marker={"color": GREY}, hovertemplate="%{y:.3g}"
    )
    for name, colour, is_left_out in (("after clipping", BLUE, False), (f"of record {choices.left_out}", VERMILION, True)):
        heights = [norm if (place == choices.left_out) == is_left_out else None for place, norm in enumerate(step.clipped.tolist())]
        figure.add_bar(x=places, y=heights, name=name, marker={"color": colour}, hovertemplate="%{y:.3g}", offsetgroup="after")
    figure.add_hline(choices.max_grad_norm, line={"color": GREY, "dash": "dot", "width": 2})
    figure.add_annotation(
        text=f"C = {choices.max_grad_norm:g}",
        x=1,
        xref="paper",
        xanchor="right",
        y=choices.max_grad_norm,
        yanchor="bottom",
        showarrow=False,
    )
    figure.update_layout(barmode="group", height=330)
    table = pd.DataFrame({"record": places, "norm before clipping": step.norms, "norm after clipping": step.clipped})
    return Chart("step_norms", figure, f"Norms of {RECORDS} gradients before and after clipping to {choices.max_grad_norm:g}", table)


def neighbours_chart(step: PrivateStepApart, choices: StepChoices) -> Chart:
    """The densities of what is released along the direction in which the record moves it, with it and without."""
    middle, reach = (step.place_with + step.place_without) / 2, 4 * step.deviation + step.apart
    along = np.linspace(middle - reach, middle + reach, POINTS)
    figure = charts.empty_figure("The released sum, along what the record adds", "Density")
    series = (("with the record", step.place_with, VERMILION, "solid"), ("without it", step.place_without, BLUE, "dash"))
    table = pd.DataFrame({"place": along})
    for name, place, colour, dash in series:
        table[name] = norm.pdf(along, place, step.deviation)
        line = {"color": colour, "dash": dash, "width": 2.5}
        figure.add_scatter(x=along.tolist(), y=table[name].tolist(), name=name, mode="lines", line=line, hovertemplate="%{y:.3g}")
    figure.add_vline(step.released, line={"color": ORANGE, "width": 2})
    figure.add_annotation(text="released", x=step.released, y=1, yref="paper", xanchor="left", yanchor="top", showarrow=False)
    figure.update_layout(height=330, hovermode="x unified")
    alt = f"Two normal densities, {deviations(step.mu)} apart: the released sum with record {choices.left_out} and without"
    return Chart("step_neighbours", figure, alt, table)


def clipped_words(step: PrivateStepApart, choices: StepChoices) -> str:
    """How many gradients were cut, and whose."""
    cut = int((step.norms > choices.max_grad_norm).sum())
    return (
        f"{cut} of {RECORDS} gradients are longer than C and are cut to it; they keep their direction. The gradients are those of the "
        f"denoising loss of a network of {step.parameters:,} parameters after {PUBLIC_STEPS} public steps."
    )


def noise_words(step: PrivateStepApart, choices: StepChoices) -> str:
    """Sum, noise, and what they leave of one record."""
    return (
        f"The sum is {number(step.sum_norm)} long, the noise in {step.parameters:,} directions {number(step.noise_norm)}: the cosine of "
        f"sum and release is {number(step.alignment)}, and the training is the average over many steps. Along what "
        f"record {choices.left_out} adds, the two sums lie {number(step.apart)} apart, {deviations(step.mu)}. The record "
        f"with the longest gradient that clipping allows makes it {number(step.worst_mu)}, whatever it is: "
        f"epsilon {number(gdp_epsilon(step.worst_mu, DELTA))} for this one step, at delta {number(DELTA)}, where all records take part."
    )
