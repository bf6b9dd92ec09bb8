from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ldpsim.strategies.engines import usage
from ldpsim.strategies.engines.usage import cpu_seconds, forget_peak, note_ended, note_ending, peak_rss
from tests.waiting import wait_until

BUSY = "import time\nwhile time.process_time() < 0.4: pass\n"


def test_the_time_of_this_process_and_of_its_children_counts() -> None:
    before = cpu_seconds()
    own = time.process_time()
    while time.process_time() < own + 0.1:
        pass
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert cpu_seconds() - before > 0.45


def test_a_child_that_still_runs_counts_and_its_end_does_not_take_it_back() -> None:
    before = cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", BUSY + "time.sleep(600)"]) as child:
        wait_until(lambda: cpu_seconds() - before >= 0.35, needs=lambda: child.poll() is None)
        seen = cpu_seconds() - before
        noted = note_ending()
        child.kill()
    note_ended(noted)
    assert 0.35 <= seen <= cpu_seconds() - before


MIB = 1 << 20


class Kernel:
    """The kernel's two files, with numbers that a test chooses."""

    def __init__(self, now: int) -> None:
        self.now = self.mark = now

    def grow(self, to: int) -> None:
        """The process is as large as this now."""
        self.now, self.mark = to, max(self.mark, to)

    def read_text(self) -> str:
        """/proc/self/status."""
        return f"Name:\tldpsim\nVmHWM:\t{self.mark // 1024} kB\nVmRSS:\t{self.now // 1024} kB\n"

    def write_text(self, text: str) -> None:
        """/proc/self/clear_refs."""
        assert text == "5"
        self.mark = self.now


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel(10 * MIB)
    monkeypatch.setattr(usage, "_STATUS", kernel)
    monkeypatch.setattr(usage, "_LOWER", kernel)
    monkeypatch.setattr(usage, "_earlier", 0)
    return kernel


def told() -> int:
    """The mark that the kernel tells of this process, in bytes."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def lowered_here() -> bool:
    """Whether this machine lets a process lower its mark; many containers do not."""
    try:
        block = np.ones(64 * MIB, np.uint8)
        before = told()
        del block
        Path("/proc/self/clear_refs").write_text("5")
        return told() < before
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel's own figure is Linux's")
def test_the_peak_is_what_the_kernel_says() -> None:
    forget_peak()
    block = np.ones(64 * MIB, np.uint8)
    assert abs(peak_rss() - told()) < 8 * MIB
    del block
