"""Where a page stands in its window, which Streamlit leaves as it was when what is above changes."""

import streamlit as st

# A dialog that closes gives the focus back to what opened it, and the browser brings that into view: the top comes after it.
TO_TOP = """
<script>
  {{  // {occasion}
    const main = document.querySelector('[data-testid="stMain"]');
    const show = times => {{
      main.scrollTo({{ top: 0, behavior: "instant" }});
      const left = document.querySelector('[role="dialog"]') ? times : times - 1;
      if (left > 0) setTimeout(show, 100, left);
    }};
    show(6);
  }}
</script>
"""


def to_top(occasion: str) -> None:
    """Bring the top of the page into view, once for each `occasion` (letters and digits)."""
    if not occasion.isalnum():
        raise ValueError(f"Expected letters and digits, got {occasion!r}.")
    st.html(TO_TOP.format(occasion=occasion), unsafe_allow_javascript=True)
