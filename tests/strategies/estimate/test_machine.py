from __future__ import annotations

import time

from strategies.estimate.machine import calibration, described, memory_bytes


def test_the_machine_is_described_and_its_speed_is_measured_within_a_second() -> None:
    started = time.process_time()
    assert 0 < calibration() < 1
    assert time.process_time() - started < 2
    assert memory_bytes() > 1 << 27 and "cores" in described()
