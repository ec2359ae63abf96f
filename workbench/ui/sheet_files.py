"""A contact sheet of several runs as files: a picture, and a page that opens without installation and fetches nothing."""

import pandas as pd

from workbench.runs.method_sheet import MethodSheet
from workbench.ui.part_files import panel_file
from workbench.ui.parts import Numbers, Pictures, Words

MARK_WORDS = {
    "private": "Private: do not share this sheet. The sentences below say what in it is not covered by a bound.",
    "releasable": "Releasable: it shows samples alone, of runs that may be released.",
}


def sheet_file(sheet: MethodSheet) -> str:
    """The page: the mark, the picture with its alternative text, the sentences on it, and its runs."""
    return panel_file(
        f"Methods by epsilon on {sheet.dataset}",
        MARK_WORDS[sheet.mark],
        [
            Pictures([("", sheet.picture)], sheet.alt),
            *map(Words, sheet.notes),
            Words("Runs", is_heading=True),
            Numbers(pd.DataFrame(sheet.runs), "The runs of the sheet, with the proved bound of each"),
        ],
    )


SHEET_FILES = {".png": MethodSheet.png, ".html": lambda sheet: sheet_file(sheet).encode()}
