"""The workbench's pages: `python app.py` opens them as `workbench app` does, and `streamlit run app.py` says how to open them."""

import runpy
import sys

from streamlit.runtime.scriptrunner import get_script_run_ctx

from workbench.cli import main
from workbench.server.start import APP

runpy.run_path(str(APP)) if get_script_run_ctx(suppress_warning=True) else main(["app", *sys.argv[1:]])
