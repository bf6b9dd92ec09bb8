"""Checks that start something: torch's graphics card, Ray, and Flower's SuperLink on loopback."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from ldpsim.cli.doctor.finding import Finding


def torch_device() -> Finding:
    """Ask torch for its device."""
    import torch

    if not torch.cuda.is_available():
        return Finding("torch device", f"cpu, {torch.get_num_threads()} threads")
    return Finding("torch device", f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}")


def ray() -> Finding:
    """Start Ray on this machine with one worker, run one task, and stop it."""
    from ldpsim.strategies.engines.pool import RaySession

    begun = time.perf_counter()
    session = RaySession(workers=1)
    try:
        answer = session.ray.get(session.ray.remote(_one).remote(), timeout=60)
    finally:
        session.close()
    seconds = time.perf_counter() - begun
    if answer != 1:
        return Finding("ray started", f"its task answered {answer!r}", "problem", "use --engine local")
    return Finding("ray started", f"one task and stopped, {seconds:.1f} s")


def _one() -> int:
    return 1


def flower() -> Finding:
    """Start Flower's SuperLink on loopback and stop it."""
    from ldpsim.strategies.engines.flower import Flower
    from ldpsim.strategies.engines.grids import FlowerFailed

    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="ldpsim-doctor-") as folder:
        try:
            with Flower(simulation=True, log=Path(folder) / "flower.log"):
                pass
        except FlowerFailed as error:
            return Finding("flower started", str(error), "problem", "use --engine local or ray")
    return Finding("flower started", f"SuperLink on loopback answered and stopped, {time.perf_counter() - begun:.1f} s")
