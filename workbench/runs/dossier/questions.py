"""What only people know of a release: the questions of a dossier, each in the section of NIST SP 800-226 that it belongs to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from workbench.errors import WorkbenchError

SECTIONS = {
    "guarantee": "1. The guarantee: unit of privacy, epsilon and delta, neighbors",
    "algorithm": "2. The algorithm and its correctness",
    "utility": "3. Utility, and bias against small groups",
    "access": "4. Access, trust model and side channels",
    "collection": "5. How the data came together",
    "signature": "Signature",
}
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")  # of the deployments registry
RELEASES = ("One release", "Many releases")
LONGEST = 5000  # letters of an answer
PUBLISHED = (
    "Answers are printed as they are typed, also in the dossier that may be released, and no bound covers them. Write nothing that may "
    "not leave the room, such as how many records a small group has."
)


def any_text(text: str) -> str:
    """The text as it is."""
    return text


def a_day(text: str) -> str:
    """A day, as 2026-05-31."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise WorkbenchError(f"Expected a day as 2026-05-31, got {text[:50]!r}.") from None


@dataclass(frozen=True)
class Question:
    """One question; `check` returns the answer in its normal form. `choices` are all that may be answered, where there are any.

    `registry`: an entry of tier 3 in the deployments registry needs the answer.
    """

    section: str
    asks: str
    check: Callable[[str], str] = any_text
    choices: tuple[str, ...] = ()
    registry: bool = True


QUESTIONS: dict[str, Question] = {
    "curators": Question("guarantee", "Who publishes? Several names are told apart by a semicolon."),
    "product": Question("guarantee", "What is the published data called?"),
    "description": Question("guarantee", "What is it, in a sentence or two?"),
    "person": Question("guarantee", "Whom does one record stand for? May one person have several, here or in other tables?"),
    "domain": Question("guarantee", "Which other data sets could have been collected in the place of this one?"),
    "why_epsilon": Question("guarantee", "Why this epsilon and this delta? Who decided, and against which harm?"),
    "preparation": Question(
        "algorithm", "What was done to the records, or read off them, before this workbench: cleaning, exploring, tuning elsewhere?"
    ),
    "after": Question("algorithm", "What is done to the samples before they are published?"),
    "purpose": Question("utility", "What is the release for, and for whom?"),
    "good_enough": Question("utility", "Who says that it is good enough for that, and by which measure?", registry=False),
    "small_groups": Question(
        "utility",
        "Which groups are small in these records (without numbers)? Who looked at how well the samples serve them?",
        registry=False,
    ),
    "access": Question("access", "Who can read the records, and the folder of this workbench? How is that kept so?"),
    "actors": Question("access", "Who sees what is released, and whom does everybody have to trust?"),
    "machine": Question("access", "Who else used the machine, or could watch it work, while it trained?"),
    "collected": Question("collection", "How, when and where were the records collected, and on which legal ground?", registry=False),
    "informed": Question("collection", "What were the people told, and how can they object?", registry=False),
    "region": Question("collection", "Which region do the records describe, or whose law applies?"),
    "sector": Question("collection", "Which sector do the records describe?", choices=SECTORS, registry=False),
    "release": Question("collection", "Is this the only release from these records?", choices=RELEASES),
    "later": Question("collection", "Which further uses of these records are planned, and who keeps count of their privacy loss?"),
    "published": Question("signature", "On which day is it published? As 2026-05-31.", a_day),
    "signer": Question("signature", "Who signs this dossier?"),
    "role": Question("signature", "In which role?", registry=False),
    "signed": Question("signature", "On which day? As 2026-05-31.", a_day, registry=False),
}


def checked_answer(key: str, text: str) -> str:
    """An answer in its normal form; refuses an unknown question, and an answer that its question does not allow."""
    if key not in QUESTIONS:
        raise WorkbenchError(f"Unknown question {key!r}. Choose one of: {', '.join(QUESTIONS)}.")
    question, text = QUESTIONS[key], text.strip()
    if len(text) > LONGEST:
        raise WorkbenchError(f"Expected at most {LONGEST} letters as the answer to {key!r}, got {len(text)}.")
    if question.choices and text and text not in question.choices:
        raise WorkbenchError(f"Expected one of {', '.join(question.choices)} as the answer to {key!r}, got {text[:50]!r}.")
    return question.check(text) if text else ""
