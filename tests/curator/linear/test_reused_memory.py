"""Memory of large arrays: pages that the system gives are counted, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_SCRIPT = """
import json, resource
from ldpsim.curator.linear.reused_memory import MAPPED, reused_memory

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def resident():
    return int(open("/proc/self/statm").read().split()[1])

def epochs(count):
    before = pages()
    for _ in range(count):
        bytearray(40 << 20)
    return pages() - before

epochs(1)
found, start = {"before": epochs(2)}, resident()
with reused_memory(MAPPED - 1):
    found["small"] = epochs(2)
with reused_memory(MAPPED):
    epochs(1)
    found["within"], found["kept"] = epochs(2), resident() - start
found["left"], found["after"] = resident() - start, epochs(2)
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_the_system_gives_no_page_twice_within_and_gets_all_back() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    array = (40 << 20) // 4096  # pages
    assert min(found["before"], found["small"], found["after"]) >= 2 * array > 20 * found["within"]
    assert found["kept"] > 0.9 * array and found["left"] < 0.1 * array
