"""The panel of the forward process."""

import pandas as pd
import streamlit as st

from workbench.pages.process.choices import validated_choices
from workbench.teaching import forward
from workbench.teaching.base import DELTA
from workbench.teaching.forward import BOUNDARIES, SIZES, TIMES, ForwardChoices
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.gallery import sheet
from workbench.ui.parts import Beside, Chart, Frames, Numbers, Part, Pictures, Words
from workbench.ui.theme import GREY, SERIES

TITLE = "The forward process"
LEAD = "How much noise hides a picture from the eye, and how much hides it from somebody who knows what to look for?"
SAYS = (
    "Large images need far more noise: their many pixels all tell of the same record. A picture in which an eye sees nothing may still "
    "have an epsilon of hundreds."
)
SMALLEST, LARGEST = 1e-2, 1e4  # of the epsilon that the chart shows
LOOSER = ", which is more: here the formula is looser than the proof"


def choose(prefix: str) -> ForwardChoices:
    """Schedule, time step and dp-promise's boundary."""
    left, middle, right = st.columns([1, 2, 2])
    schedule = left.segmented_control(
        "Schedule", ["linear", "cosine"], default="linear", required=True, key=f"{prefix}schedule", bind="query-params"
    )
    time = middle.select_slider("Time step t", TIMES, 100, key=f"{prefix}time", bind="query-params", help="0 is the record, 1000 noise.")
    boundary = right.select_slider(
        "dp-promise's boundary S", BOUNDARIES, 500, key=f"{prefix}boundary", bind="query-params",
        help="Its phase one trains the time steps after S on noised records, without other noise; phase two those up to S by DP-SGD.",
    )  # fmt: skip
    return validated_choices(ForwardChoices, schedule=schedule, time=time, boundary=boundary)


def parts(choices: ForwardChoices) -> list[Part]:
    """The records, the two curves, and what the boundary costs."""
    images, curves = forward.noised_digits(choices.schedule), forward.over_time(choices.schedule)
    time, boundary = nearest(TIMES, choices.time), nearest(BOUNDARIES, choices.boundary)
    words = [f"t = {at}" for at in TIMES]

    def seen(place: int) -> list[Part]:
        return [Pictures([("", sheet(images[place], 10, 64))], f"Ten digits at time step {TIMES[place]}")]

    def split(place: int) -> list[Part]:
        return [
            Numbers(at_boundary(choices.schedule, BOUNDARIES[place]), "What one noised image costs"),
            Words(phase_one_words(choices, place)),
        ]

    marks = {"t": TIMES[time], "S": BOUNDARIES[boundary]}
    return [
        Frames("Time step t", words, time, seen),
        Beside(
            [
                [
                    Words("Signal over noise, of its 8×8 thumbnail", is_heading=True),
                    curve(curves, "snr", "Signal over noise (power, log scale)", marks, (1e-5, 1e5)),
                ],
                [
                    Words(f"Epsilon of one noised image, at delta {number(DELTA)}", is_heading=True),
                    curve(curves, "epsilon", "Epsilon (log scale)", marks, (SMALLEST, LARGEST)),
                ],
            ]
        ),
        Words(SAYS),
        Words("What the boundary costs", is_heading=True),
        Frames("dp-promise's boundary S", [f"S = {at}" for at in BOUNDARIES], boundary, split),
    ]


def nearest(places: tuple[int, ...], value: int) -> int:
    """Which of `places` lies nearest to a value."""
    return min(range(len(places)), key=lambda place: abs(places[place] - value))


def curve(frame: pd.DataFrame, column: str, title: str, marks: dict[str, int], limits: tuple[float, float]) -> Chart:
    """A line for each image size over the time step, with upright lines at `marks`."""
    figure = charts.empty_figure("Time step t", title)
    for (size, rows), colour, dash in zip(frame.groupby("size", sort=False), SERIES, charts.DASHES, strict=False):
        figure.add_scatter(
            x=rows["time"].tolist(), y=rows[column].tolist(), name=str(size), mode="lines", hovertemplate="%{y:.3g}",
            line={"color": colour, "dash": dash, "width": 2.5},
        )  # fmt: skip
    for name, place in marks.items():
        figure.add_vline(place, line={"color": GREY, "width": 1.5, "dash": "dot"})
        anchor = "right" if name == "t" else "left"
        figure.add_annotation(text=name, x=place, y=1, yref="paper", showarrow=False, xanchor=anchor, yanchor="top")
    charts.logarithmic(figure, *limits)
    figure.update_layout(height=330, hovermode="x unified")
    table = frame.pivot(index="time", columns="size", values=column)[list(SIZES)].reset_index()
    alt = f"{title} over the time step, for images of {', '.join(SIZES)}"
    return Chart(f"forward_{column}", figure, alt, table)


def at_boundary(schedule: forward.Name, boundary: int) -> pd.DataFrame:
    """What one image noised to a boundary costs, by its size."""
    rows = forward.over_time(schedule, (boundary,))
    return pd.DataFrame(
        {
            "Image": rows["size"],
            "Two images apart, in standard deviations": [number(mu) for mu in rows["mu"]],
            f"Epsilon of one noised image, at delta {number(DELTA)}": [number(epsilon) for epsilon in rows["epsilon"]],
        }
    )


def phase_one_words(choices: ForwardChoices, place: int) -> str:
    """What phase one on the digits costs at a boundary."""
    bound, claim = forward.phase_one(choices.schedule, BOUNDARIES[place])
    return (
        f"With S = {BOUNDARIES[place]}, phase one of dp-promise on the digits (100 steps of 16 of 1,500 records, each noised anew) has the "
        f"proved epsilon {number(bound)}; the paper's formula claims {number(claim)}{LOOSER if claim > bound else ''}. A later boundary "
        "protects more and leaves more time steps to the private steps of phase two."
    )
