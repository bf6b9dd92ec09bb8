"""The exact law of a draw, as the tests of the mechanisms have it."""

from __future__ import annotations

from tests.devices.mechanisms.conftest import law as law
