"""What a card of the gallery is made of: a sample beside its neighbours, and the buttons of its verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from workbench.escaping import html_text, markdown
from workbench.records.images import png_data_uri
from workbench.runs.verdicts import JUDGEMENTS
from workbench.ui.gallery import enlargement

CARD_PIXELS = 56


@dataclass(frozen=True)
class Picture:
    """One picture on a card: the record, its caption, and what a screen reader says."""

    record: np.ndarray  # (C, H, W) uint8
    caption: str
    description: str


def neighbour_card(heading: str, generated: Picture, training: Sequence[Picture], held_out: Picture) -> None:
    """A generated image beside its nearest training records and its nearest held-out one, with captions and descriptions.

    The pictures are one piece of HTML: as elements of their own they would be most of what a page of cards takes.
    """
    st.markdown(f"**{markdown(heading)}**")
    groups = {"Generated": [generated], "Nearest training records": training, "Held-out": [held_out]}
    st.html(f'<div class="neighbours">{"".join(_group(name, pictures) for name, pictures in groups.items())}</div>')


def _group(name: str, pictures: Sequence[Picture]) -> str:
    return f"<div><p>{html_text(name)}</p><div>{''.join(map(_figure, pictures))}</div></div>"


def _figure(shown: Picture) -> str:
    """A picture, enlarged by a whole factor."""
    channels, _, width = shown.record.shape
    address = png_data_uri(shown.record[: 3 if channels >= 3 else 1])
    wide = width * enlargement(shown.record, CARD_PIXELS)
    image = f'<img src="{address}" width="{wide}" alt="{html_text(shown.description)}">'
    return f"<figure>{image}<figcaption>{html_text(shown.caption)}</figcaption></figure>"


def verdict_controls(key: str, what: str, verdict: str | None, note: str, save: Callable[[str, str], object]) -> None:
    """Four buttons, and a note once there is a verdict; `save(verdict, note)` is called when either changes.

    What is kept is the truth: the widgets are set to it at every rerun.
    """
    verdict_key, note_key = f"{key}_verdict", f"{key}_note"
    st.session_state[verdict_key] = verdict

    def changed() -> None:
        save(st.session_state[verdict_key], st.session_state.get(note_key, ""))

    st.segmented_control(f"Verdict on {what}", JUDGEMENTS, key=verdict_key, on_change=changed, required=True, label_visibility="collapsed")
    if verdict is not None:
        st.session_state[note_key] = note
        st.text_input(f"Note on {what}", key=note_key, on_change=changed, placeholder="note, optional", label_visibility="collapsed")
