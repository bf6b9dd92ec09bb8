from __future__ import annotations

import subprocess
import sys
import time

from strategies.engines.cpu_time import cpu_seconds, note_ended, note_ending

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
