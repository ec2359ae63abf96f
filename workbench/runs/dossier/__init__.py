"""The dossier of a run: what a data protection officer signs, in the order of NIST SP 800-226, and its check against the export."""

from workbench.runs.dossier.checking import NOT_CHECKED, check_dossier
from workbench.runs.dossier.html import render
from workbench.runs.dossier.making import dossier_of
from workbench.runs.dossier.questions import QUESTIONS, SECTIONS
from workbench.runs.dossier.registry import registry_entry
from workbench.runs.dossier.statements import kept_statements, state

__all__ = ["NOT_CHECKED", "QUESTIONS", "SECTIONS", "check_dossier", "dossier_of", "kept_statements", "registry_entry", "render", "state"]
