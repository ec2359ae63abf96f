"""The commands in groups, each with a line: what `workbench --help` shows, and what `workbench help` finds."""

from typing import Any

from typer.core import TyperGroup

GROUPS: dict[str, dict[str, str]] = {
    "Start": {
        "app": "Open the pages in a browser, for this machine alone.",
        "example": "Make a small finished run to look at.",
        "help": "Explain a command, a group, a word or a measure.",
    },
    "Plan": {
        "methods": "List the methods.",
        "datasets": "List the data sets that have a name.",
        "declare": "Propose what to declare public of a table's columns.",
        "duplicates": "Find near-duplicates among the training records.",
        "plan": "Show what a method releases, and its epsilon.",
        "dry-run": "Try a plan on drawn records, at no privacy cost.",
        "epsilon": "Compute epsilon of DP-SGD by every accountant.",
        "claims": "Show what papers claim beside what is proved.",
        "ledger": "Show what has been spent on each data set.",
    },
    "Train": {
        "train": "Train a method in the background.",
        "sweep": "Train methods at several epsilons, settings and seeds.",
        "queue": "List, order and pause what waits for its turn.",
        "cancel": "Stop a run and keep its checkpoint.",
        "resume": "Let a stopped run go on.",
        "finish": "End a run early and keep its model.",
        "clone": "Start a new run with another's plan.",
    },
    "Look": {
        "runs": "List the runs.",
        "show": "Show one run.",
        "jobs": "List everything that works in the background.",
        "sweeps": "Show what sweeps have found.",
        "sample": "Draw samples from a finished run.",
        "samples": "List the sets of samples.",
        "neighbours": "Show samples beside their nearest records.",
        "process": "Write a teaching panel as a file for a lecture.",
    },
    "Measure": {
        "evaluate": "Measure samples beside real records.",
        "compare": "Put runs of one dataset side by side.",
        "reproduce": "Carry out a recipe of runs and measures.",
        "report": "Write a recipe's results as a table and a picture.",
        "comparisons": "Print what all comparisons found.",
    },
    "Audit": {
        "audit": "Measure a lower bound on epsilon by an attack.",
        "caught": "Attack what unproved claims cover.",
        "membership": "Tell training records from held-out ones.",
        "game": "Play the membership game on training losses.",
        "copies": "Tell what samples repeat of the records.",
        "records": "Tell how much samples show of each record.",
        "find": "Find a person's record by a picture or a row.",
        "record": "Tell how near samples come to one record.",
        "leakage": "Vary one setting and measure what samples show.",
        "removal": "Train again without the most exposed records.",
        "votes": "Tell PATE's epsilon by the true votes; private.",
        "pac": "Train on random halves, and measure PAC privacy.",
    },
    "Release": {
        "export": "Write what may be shared, with a privacy card.",
        "export-sets": "Write the synthetic sets of a recipe, as exports.",
        "dossier": "Write what a data protection officer signs.",
        "verify": "Check an export, and its dossier, without any data.",
    },
    "Housekeeping": {
        "home": "Show where this home lies and what is in it, or empty it.",
        "label": "Name a run, note something about it, tag it.",
        "delete": "Delete a run.",
        "clean": "Show the room that is taken, and make some.",
        "archive": "Write finished runs to a private file.",
        "restore": "Put archived runs back.",
        "import": "Take in samples that were made elsewhere.",
        "forget": "Delete what was imported.",
        "track": "Send a run to TensorBoard or MLflow.",
    },
}


class GroupedCommands(TyperGroup):
    """Lists its commands by group."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section a group."""
        width = max(len(name) for commands in GROUPS.values() for name in commands)
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])
