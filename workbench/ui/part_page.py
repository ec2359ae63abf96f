"""The parts of a teaching panel on a page of the dashboard."""

from collections.abc import Sequence

import streamlit as st

from workbench.escaping import prose
from workbench.ui import charts
from workbench.ui.parts import Beside, Chart, Frames, Guesses, Numbers, Part, Pictures, Words


def show_parts(parts: Sequence[Part], prefix: str) -> None:
    """Draw a panel on a page; keys of charts begin with `prefix`."""
    for part in parts:
        _show(part, prefix)


def _show(part: Part, prefix: str) -> None:
    match part:
        case Words(text, is_heading):
            st.subheader(text, anchor=False) if is_heading else st.markdown(prose(text))
        case Pictures(rows, alt):
            for name, image in rows:
                st.image(image, alt=f"{alt}: {name}" if name else alt, caption=name or None, width=image.width, output_format="PNG")
        case Chart(name, figure, alt, table):
            charts.show(figure, alt, table, f"{prefix}{name}")
        case Numbers(frame, alt):
            st.dataframe(frame, hide_index=True, alt=alt)
        case Beside(columns):
            for place, inner in zip(st.columns(len(columns)), columns, strict=True):
                with place:
                    show_parts(inner, prefix)
        case Frames(_, _, chosen, inner):
            show_parts(inner(chosen), prefix)
        case Guesses():
            pass
