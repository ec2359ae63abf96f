"""What Sphinx is told."""

from pathlib import Path

project = "DP diffusion workbench"
author = "the DP diffusion workbench's authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_proof", "sphinx_togglebutton", "sphinxcontrib.bibtex"]
html_theme = "furo"
html_title = project
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # assemble.py puts in what the lessons printed when they were carried out
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": False}
python_use_unqualified_type_names = True
togglebutton_hint = "Show"
suppress_warnings = ["myst.header", "mystnb.lexer"]  # documents start their headings where GitHub's reader needs them
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
exclude_patterns = ["_build"]
