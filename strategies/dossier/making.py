"""A dossier from a run, a plan or a comparison."""

from __future__ import annotations

from strategies.dossier.content import Dossier
from strategies.dossier.processing import necessity, processed, sheet
from strategies.dossier.risks import decision, measures, not_protected, residual, risks, served
from strategies.dossier.subject import PLAN, Subject
from strategies.outputs.untrusted import text

ABOUT = (
    "The sections group the subjects of an impact assessment by Art. 35 GDPR. The template of the European data "
    "protection board of April 2026 is known to ldpsim from summaries alone, so this is not its form. Nothing here "
    "says that a law is complied with. Each figure names its source: a theorem (docs/guarantees.md), a test, a run or "
    "a plan, with its place in the file."
)


def make_dossier(subject: Subject) -> Dossier:
    """Return the content of a dossier.

    Raises:
        ValueError: one line, for a result whose parts cannot be read.
    """
    try:
        people = subject.document["facts"]["n"] if subject.kind == PLAN else subject.document["dataset"]["nodes"]
        sections = (sheet(subject), processed(subject), necessity(subject), risks(subject), measures(subject),
                    residual(subject), served(subject), decision())  # fmt: skip
        return Dossier(f"{subject.method.name} for {people:,} people", ABOUT, not_protected(subject), sections)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{subject.folder}: no dossier, because the file lacks a part ({text(error)})") from None
