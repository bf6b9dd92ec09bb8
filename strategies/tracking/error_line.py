"""Errors of a tracker's client as one line, without the passwords that its address may carry."""

from __future__ import annotations

import re


def without_password(text: str) -> str:
    """Return a target without the name and password that a URI may carry.

    >>> without_password("mlflow:https://me:secret@example.org/x")
    'mlflow:https://...@example.org/x'
    """
    return re.sub(r"//[^/@]*@", "//...@", text)


def error_line(error: Exception) -> str:
    """Return an error of a client as one short line, without passwords."""
    line = without_password(" ".join(str(error).split())) or type(error).__name__
    if "Max retries exceeded" in line:  # MLflow's, with several lines about urllib3
        return "the server does not answer"
    return line if len(line) <= 200 else f"{line[:200].rstrip()} ..."
