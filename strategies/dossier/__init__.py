"""Dossier of a run, a plan or a comparison, for the people who decide on a collection (``ldpsim dossier``)."""
