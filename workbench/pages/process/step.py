"""The panel of one private step."""

import numpy as np
import pandas as pd
import streamlit as st
from scipy.stats import norm

from workbench.pages.process.asked import carried
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.teaching.base import DELTA
from workbench.teaching.one_step import PUBLIC_STEPS, RECORDS, PrivateStepApart, StepAsked, take_apart
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.gallery import sheet
from workbench.ui.parts import Beside, Chart, Part, Pictures, Words
from workbench.ui.theme import BLUE, GREY, ORANGE, VERMILION

TITLE = "One private step"
LEAD = "What do clipping and noise do to the gradients of real records, and how far can one record move the result?"
POINTS = 121


def choose(prefix: str) -> StepAsked:
    """Clipping norm, noise, and the record that the neighbor is without."""
    clip, noise, left_out = st.columns(3)
    return carried(
        StepAsked,
        max_grad_norm=clip.number_input("Clipping norm C", 0.01, 10.0, 1.0, 0.25, format="%g", key=f"{prefix}clip", bind="query-params"),
        noise_multiplier=noise.number_input(
            "Noise multiplier", 0.1, 20.0, 1.0, 0.25, format="%g", key=f"{prefix}noise", bind="query-params",
            help="The noise's standard deviation in every direction, over C.",
        ),
        left_out=left_out.number_input(
            "Record that the neighbor is without", 0, RECORDS - 1, 0, key=f"{prefix}record", bind="query-params"
        ),
    )  # fmt: skip


def parts(asked: StepAsked) -> list[Part]:
    """Norms by record, sum and noise, and the two sums along what one record adds."""
    found = take_apart(asked)
    return [
        Pictures([("", sheet(found.images, RECORDS, 32))], f"The {RECORDS} records of the batch, from number 0"),
        Beside(
            [
                [
                    Words("1. Each record's gradient, clipped", is_heading=True),
                    norms_chart(found, asked),
                    Words(clipped_words(found, asked)),
                ],
                [
                    Words(f"2. The sum, with noise, with and without record {asked.left_out}", is_heading=True),
                    neighbours_chart(found, asked),
                    Words(noise_words(found, asked)),
                ],
            ]
        ),
    ]


def norms_chart(found: PrivateStepApart, asked: StepAsked) -> Chart:
    """Bars side by side, a pair a record, and the clipping norm."""
    figure, places = charts.empty_figure("Record", "Norm of the gradient"), list(range(RECORDS))
    figure.add_bar(
        x=places, y=found.norms.tolist(), name="before clipping", offsetgroup="before", marker={"color": GREY}, hovertemplate="%{y:.3g}"
    )
    for name, colour, is_left_out in (("after clipping", BLUE, False), (f"of record {asked.left_out}", VERMILION, True)):
        heights = [norm if (place == asked.left_out) == is_left_out else None for place, norm in enumerate(found.clipped.tolist())]
        figure.add_bar(x=places, y=heights, name=name, marker={"color": colour}, hovertemplate="%{y:.3g}", offsetgroup="after")
    figure.add_hline(asked.max_grad_norm, line={"color": GREY, "dash": "dot", "width": 2})
    figure.add_annotation(
        text=f"C = {asked.max_grad_norm:g}", x=1, xref="paper", xanchor="right", y=asked.max_grad_norm, yanchor="bottom", showarrow=False
    )
    figure.update_layout(barmode="group", height=330)
    table = pd.DataFrame({"record": places, "norm before clipping": found.norms, "norm after clipping": found.clipped})
    return Chart("step_norms", figure, f"Norms of {RECORDS} gradients before and after clipping to {asked.max_grad_norm:g}", table)


def neighbours_chart(found: PrivateStepApart, asked: StepAsked) -> Chart:
    """The densities of what is released along the direction in which the record moves it, with it and without."""
    middle, reach = (found.place_with + found.place_without) / 2, 4 * found.deviation + found.apart
    along = np.linspace(middle - reach, middle + reach, POINTS)
    figure = charts.empty_figure("The released sum, along what the record adds", "Density")
    series = (("with the record", found.place_with, VERMILION, "solid"), ("without it", found.place_without, BLUE, "dash"))
    table = pd.DataFrame({"place": along})
    for name, place, colour, dash in series:
        table[name] = norm.pdf(along, place, found.deviation)
        line = {"color": colour, "dash": dash, "width": 2.5}
        figure.add_scatter(x=along.tolist(), y=table[name].tolist(), name=name, mode="lines", line=line, hovertemplate="%{y:.3g}")
    figure.add_vline(found.released, line={"color": ORANGE, "width": 2})
    figure.add_annotation(text="released", x=found.released, y=1, yref="paper", xanchor="left", yanchor="top", showarrow=False)
    figure.update_layout(height=330, hovermode="x unified")
    alt = f"Two normal densities, {number(found.mu)} standard deviations apart: the released sum with record {asked.left_out} and without"
    return Chart("step_neighbours", figure, alt, table)


def clipped_words(found: PrivateStepApart, asked: StepAsked) -> str:
    """How many gradients were cut, and whose."""
    cut = int((found.norms > asked.max_grad_norm).sum())
    return (
        f"{cut} of {RECORDS} gradients are longer than C and are cut to it; they keep their direction. The gradients are those of the "
        f"denoising loss of a network of {found.parameters:,} parameters after {PUBLIC_STEPS} public steps."
    )


def noise_words(found: PrivateStepApart, asked: StepAsked) -> str:
    """Sum, noise, and what they leave of one record."""
    return (
        f"The sum is {number(found.sum_norm)} long, the noise in {found.parameters:,} directions {number(found.noise_norm)}: the cosine of "
        f"sum and release is {number(found.alignment)}, and the training is the average over many steps. Along what "
        f"record {asked.left_out} adds, the two sums lie {number(found.apart)} apart, {number(found.mu)} standard deviations. The record "
        f"with the longest gradient that clipping allows makes it {number(found.worst_mu)}, whatever it is: "
        f"epsilon {number(gdp_epsilon(found.worst_mu, DELTA))} for this one step, at delta {number(DELTA)}, where all records take part."
    )
