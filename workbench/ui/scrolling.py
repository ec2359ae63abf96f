"""Where a page stands in its window, which Streamlit leaves as it was when what is above changes."""

import streamlit as st

TO_TOP = """
<script>
  // {occasion}
  document.querySelector('[data-testid="stMain"]').scrollTo({{ top: 0, behavior: "instant" }});
</script>
"""


def to_top(occasion: str) -> None:
    """Bring the top of the page into view, once for each `occasion` (letters and digits)."""
    if not occasion.isalnum():
        raise ValueError(f"Expected letters and digits, got {occasion!r}.")
    st.html(TO_TOP.format(occasion=occasion), unsafe_allow_javascript=True)
