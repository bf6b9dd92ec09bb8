"""Settings of the methods that train in silos."""

from __future__ import annotations
