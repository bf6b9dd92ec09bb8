from pathlib import Path

import numpy as np
import pytest

from strategies.engines import memory_peak
from strategies.engines.memory_peak import forget_peak, peak_rss, phase_peak

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
    monkeypatch.setattr(memory_peak, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(memory_peak, "_LOWER", tmp_path / "none" / "either")
    forget_peak()
    assert phase_peak() >= 32 * MIB
    assert peak_rss() == phase_peak()
