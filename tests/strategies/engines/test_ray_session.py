"""Ray is started with quiet arguments and without statistics, and a Ray of somebody else stays."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from strategies import NO_TELEMETRY
from strategies.engines.ray_session import RaySession


class Ray(SimpleNamespace):
    """Ray that notes what is asked of it."""

    def __init__(self, *, running: bool = False) -> None:
        super().__init__(running=running, started=[], stopped=0)

    def is_initialized(self) -> bool:
        return bool(self.running)

    def init(self, **given: Any) -> None:
        assert all(os.environ[name] == value for name, value in NO_TELEMETRY.items())
        self.running = True
        self.started.append(given)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 6.0}

    def shutdown(self) -> None:
        self.stopped += 1


@pytest.mark.parametrize(
    ("workers", "address", "expected"), [(2, None, ("local", 2)), (2, "ray://far:1", ("ray://far:1", None))]
)
def test_ray_is_started_once_and_stopped_once(
    monkeypatch: pytest.MonkeyPatch, workers: int, address: str | None, expected: tuple[Any, ...]
) -> None:
    ray = Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    session = RaySession(workers, address)
    (given,) = ray.started
    assert (given["address"], given["num_cpus"]) == expected
    assert given["include_dashboard"] is given["log_to_driver"] is False
    assert session.cores == 6
    session.close()
    session.close()
    assert ray.stopped == 1


def test_sigterm_ends_the_process_as_it_did_before_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray has a handler of its own, which aborts."""

    class Aborting(Ray):
        def init(self, **given: Any) -> None:
            super().init(**given)
            signal.signal(signal.SIGTERM, lambda *_: os.abort())

    monkeypatch.setitem(sys.modules, "ray", Aborting())  # type: ignore[arg-type]
    mine = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        RaySession().close()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, mine)


def test_a_ray_that_ran_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(running=True)
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    RaySession(2, "auto").close()
    assert ray.started == [] and ray.stopped == 0
