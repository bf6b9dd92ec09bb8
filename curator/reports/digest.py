"""Digest of a collection: SHA-256 over all report bytes in the order of devices, equal on every engine for one seed."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping

_HEAD = struct.Struct("<qI").pack


class ReportsDigest:
    """The digest of reports that come in the order of their devices.

    >>> digest = ReportsDigest()
    >>> digest.add({0: b"a", 3: b"b"})
    >>> digest.add({7: b""})
    >>> digest.hexdigest() == reports_digest({7: b"", 3: b"b", 0: b"a"})
    True
    """

    def __init__(self) -> None:
        self._state = hashlib.sha256()

    def add(self, reports: Mapping[int, bytes]) -> None:
        """Take the reports of further devices, whose numbers rise from call to call."""
        pieces = [piece for device, data in reports.items() for piece in (_HEAD(device, len(data)), data)]
        self._state.update(b"".join(pieces))

    def hexdigest(self) -> str:
        """Return the digest of all that came."""
        return self._state.hexdigest()


def reports_digest(reports: Mapping[int, bytes]) -> str:
    """Return the digest (hex) of reports in any order."""
    digest = ReportsDigest()
    for device in sorted(reports):
        digest.add({device: reports[device]})
    return digest.hexdigest()
