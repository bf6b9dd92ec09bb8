"""Ends of a run without a result."""

from __future__ import annotations


class Refused(Exception):
    """Error of a run without reports in which devices refused; one line with the codes."""


class RunFailed(Exception):
    """Error of a run that could not be finished, in one line."""
