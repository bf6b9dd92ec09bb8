"""Former home of :mod:`curator.privacy.guarantee`, kept for code that still imports from here."""

from curator.names import moved

__getattr__ = moved(__name__, "curator.privacy.guarantee")
