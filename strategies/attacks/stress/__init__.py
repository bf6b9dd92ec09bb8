"""Curators that ask again, against devices with and without protection (``ldpsim stress``)."""
