"""Bytes as base64 text in a question or a published model: one text for the same bytes, and no other."""

from __future__ import annotations

import base64
import binascii

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


def as_text(data: Bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(np.ascontiguousarray(data, np.uint8).tobytes()).decode("ascii")


def from_text(text: object) -> Bytes:
    """Return the bytes of :func:`as_text`, none of any other text."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        data = b""
    return np.frombuffer(data if base64.b64encode(data).decode("ascii") == text else b"", np.uint8)
