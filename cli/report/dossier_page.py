"""Page of a dossier: one self-contained file without a script, to be printed."""

from __future__ import annotations

from cli.report.page import environment
from strategies.dossier.content import Dossier, sources_of


def render_dossier(made: Dossier) -> str:
    """Return the page as text."""
    templates = environment()
    templates.filters["sources"] = sources_of
    return templates.get_template("dossier.html").render(made=made)
