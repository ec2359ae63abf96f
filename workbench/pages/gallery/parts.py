"""What a card of the gallery is made of: a sample beside its neighbours, and the buttons of its verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from workbench.escaping import markdown
from workbench.runs.verdicts import JUDGEMENTS
from workbench.ui.gallery import picture

CARD_PIXELS = 56


@dataclass(frozen=True)
class Picture:
    """One picture on a card: the record, its caption, and what a screen reader says."""

    record: np.ndarray  # (C, H, W) uint8
    caption: str
    description: str


def neighbour_card(heading: str, generated: Picture, training: Sequence[Picture], held_out: Picture) -> None:
    """A generated image beside its nearest training records and its nearest held-out one, with captions and descriptions."""
    st.markdown(f"**{markdown(heading)}**")
    groups = {"Generated": [generated], "Nearest training records": training, "Held-out": [held_out]}
    with st.container(horizontal=True, gap="xsmall"):
        for name, pictures in groups.items():
            images = [picture(item.record, CARD_PIXELS) for item in pictures]
            with st.container(width=max(76, (images[0].width + 2) * len(pictures) + 10), gap=None):
                st.caption(name)
                captions = [markdown(item.caption) for item in pictures]
                st.image(images, caption=captions, alt=[item.description for item in pictures], width=images[0].width, output_format="PNG")


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
