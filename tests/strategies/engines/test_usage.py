from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

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


def told() -> int:
    """The mark that the kernel tells of this process, in bytes."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel's own figure is Linux's")
def test_the_peak_is_what_the_kernel_says() -> None:
    forget_peak()
    block = np.ones(64 << 20, np.uint8)
    assert abs(peak_rss() - told()) < 8 << 20
    del block
