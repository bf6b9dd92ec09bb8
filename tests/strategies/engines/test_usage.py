from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from strategies.engines import usage
from strategies.engines.usage import cpu_seconds, forget_peak, note_ended, note_ending, peak_rss, phase_peak

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
    with subprocess.Popen([sys.executable, "-c", BUSY + "time.sleep(30)"]) as child:
        until = time.monotonic() + 20
        while cpu_seconds() - before < 0.35 and time.monotonic() < until:
            time.sleep(0.05)
        seen = cpu_seconds() - before
        noted = note_ending()
        child.kill()
    note_ended(noted)
    assert 0.35 <= seen <= cpu_seconds() - before


MIB = 1 << 20
linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel's mark is lowered on Linux")


@linux
def test_the_peak_of_a_run_is_the_largest_of_its_phases() -> None:
    forget_peak()
    quiet = phase_peak()
    block = np.ones(96 * MIB, np.uint8)
    del block  # its pages go back to the kernel at once
    large, after = phase_peak(), phase_peak()
    assert large > quiet + 80 * MIB
    assert after < large - 80 * MIB
    assert peak_rss() == max(quiet, large, after) == large


@linux
def test_the_peak_is_what_the_kernel_says() -> None:
    forget_peak()
    block = np.ones(64 * MIB, np.uint8)
    told = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    assert abs(peak_rss() - told) < 8 * MIB
    del block


@linux
def test_forgetting_leaves_earlier_runs_out() -> None:
    block = np.ones(96 * MIB, np.uint8)
    before = peak_rss()
    del block
    forget_peak()
    assert peak_rss() < before - 80 * MIB


def test_a_system_without_the_kernels_files_has_the_peak_of_its_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(usage, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(usage, "_LOWER", tmp_path / "none" / "either")
    forget_peak()
    assert phase_peak() >= 32 * MIB
    assert peak_rss() == phase_peak()
