"""Former home of :mod:`curator.methods.local.links`, kept for code that still imports from here."""

from curator.names import moved

__getattr__ = moved(__name__, "curator.methods.local.links")
