"""One pool for all: threads, order, errors, workers that die, what they use, and no process left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from ldpsim.strategies.engines.pool import Pool, WorkerDied, on_ray, processes
from ldpsim.strategies.engines.usage import cpu_seconds, forget_peak, note_ended, note_ending, peak_rss
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("real_processes")


def die_or_double(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def threads_here(_: object) -> tuple[int, str]:
    import torch

    return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]


def slow_or_bad(number: int) -> int:
    if number == 1:
        raise KeyError("bad")
    time.sleep(0.05 * (2 - number))
    return number


def process_of(_: object) -> int:
    return os.getpid()


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


def sleep_or_fail(marks: Path | None) -> None:
    """Sleep for ever with a file that names the process, or fail at once."""
    if marks is None:
        raise KeyError("bad")
    (marks / str(os.getpid())).touch()
    time.sleep(600)


def started(marks: Path) -> int:
    """Wait for the process that sleeps and return its id."""
    wait_until(lambda: list(marks.iterdir()))
    return int(next(marks.iterdir()).name)


def is_gone(process: int) -> bool:
    """Whether a process has ended."""
    multiprocessing.active_children()  # reaps those that have ended
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_worker_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with processes(1) as pool:
        assert list(pool.in_order(threads_here, [None])) == [(1, "1")]
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_a_worker_that_dies_takes_no_other_task_with_it() -> None:
    with processes(2, prepare=None) as pool:
        ended = dict(pool.each(die_or_double, [(number, number) for number in range(6)]))
        assert {number: future.result() for number, future in ended.items() if number != 3} == {
            0: 0, 1: 2, 2: 4, 4: 8, 5: 10,
        }  # fmt: skip
        with pytest.raises(WorkerDied, match="its process died"):
            ended[3].result()


def test_results_come_in_order_and_an_error_in_its_place() -> None:
    pool = Pool(ThreadPoolExecutor, 3)
    assert list(pool.in_order(slow_or_bad, [0, 2, 0])) == [0, 2, 0]
    results = pool.in_order(slow_or_bad, [0, 1, 2])
    assert next(results) == 0
    with pytest.raises(KeyError, match="bad"):
        next(results)
    pool.close()


@pytest.mark.parametrize(("workers", "tasks"), [(1, None), (1, 5), (4, 1), (4, 0)])
def test_a_single_worker_may_be_this_process(workers: int, tasks: int | None) -> None:
    with processes(workers, tasks=tasks, here=True) as pool:
        assert pool.workers == 1
        assert list(pool.in_order(process_of, [1, 2])) == [os.getpid()] * 2
        ended = dict(pool.each(slow_or_bad, [(0, 2), (1, 1), (2, 2)]))
        assert isinstance(ended[1].exception(), KeyError) and ended[2].result() == 2
        with pytest.raises(KeyboardInterrupt):  # it ends the work, not one task
            list(pool.in_order(interrupted, [1]))


def test_a_task_that_fails_ends_the_running_ones(tmp_path: Path) -> None:
    with pytest.raises(KeyError), processes(2, prepare=None) as pool:
        tasks = ((number, None if number and started(tmp_path) else tmp_path) for number in range(2))
        for _, future in pool.each(sleep_or_fail, tasks):
            future.result()
    sleeping = started(tmp_path)
    wait_until(lambda: is_gone(sleeping))


SCRIPT = """
import sys
from pathlib import Path
from ldpsim.strategies.engines.pool import processes
from tests.strategies.engines.test_pool import sleep_or_fail
if __name__ == "__main__":
    with processes(1, prepare=None) as pool:
        list(pool.in_order(sleep_or_fail, [Path(sys.argv[1])]))
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    (tmp_path / "script.py").write_text(SCRIPT)
    root = Path(__file__).resolve().parents[3]
    parent = subprocess.Popen([sys.executable, str(tmp_path / "script.py"), str(tmp_path / "marks")],
                              env={**os.environ, "PYTHONPATH": str(root)})  # fmt: skip
    worker = started(tmp_path / "marks")
    parent.kill()
    parent.wait()
    wait_until(lambda: is_gone(worker))


def test_ray_gives_the_same(ray_here: None) -> None:
    with on_ray(None, None) as pool:
        ((threads, _),) = pool.in_order(threads_here, [None])
        assert threads == 1
        assert list(pool.in_order(str, range(4))) == ["0", "1", "2", "3"]
        with pytest.raises(KeyError):
            list(pool.in_order(slow_or_bad, [1]))


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
