"""Former home of :mod:`curator.reports.agreed_pairs`, kept for code that still imports from here."""

from curator.names import moved

__getattr__ = moved(__name__, "curator.reports.agreed_pairs", "curator.linear.propagation")
