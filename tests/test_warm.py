"""Warm processes: they are as those of ``subprocess`` for what the tests look at."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.waiting import wait_until

BOTH = pytest.mark.parametrize("run", [subprocess.run, warm.run], ids=["real", "warm"])
SAYS = """
import atexit, os, sys
atexit.register(print, "at the end")
print(sys.argv, os.getcwd(), os.environ.get("SAID"), __name__, sys.stdin.read())
print("error", file=sys.stderr)
if len(sys.argv) > 1:
    sys.exit(int(sys.argv[1]))
"""


@BOTH
def test_words_streams_folder_environment_and_exit_code(run: Callable[..., Any], tmp_path: Path) -> None:
    given = {"cwd": tmp_path, "env": {**os.environ, "SAID": "this"}, "capture_output": True, "text": True,
             "stdin": subprocess.DEVNULL}  # fmt: skip
    done = run([sys.executable, "-c", SAYS, "7"], **given)
    assert (done.returncode, done.stderr) == (7, "error\n")
    assert done.stdout.splitlines() == [f"['-c', '7'] {tmp_path} this __main__ ", "at the end"]
    assert run([sys.executable, "-c", "raise ValueError('no')"], **given).returncode == 1
    (tmp_path / "script.py").write_text(SAYS)
    done = run([sys.executable, str(tmp_path / "script.py")], **given)
    assert done.returncode == 0 and done.stdout.startswith(f"['{tmp_path}/script.py'] {tmp_path} this __main__")
    done = run([sys.executable, "-m", "ldpsim.cli.main", "--version"], **{**given, "cwd": Path(__file__).parents[1]})
    assert done.returncode == 0 and done.stdout.startswith("ldpsim ") and done.stderr == ""


@pytest.mark.parametrize("popen", [subprocess.Popen, warm.Popen], ids=["real", "warm"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_it(popen: Any, number: signal.Signals) -> None:
    """Power: the exit code says which."""
    own = (
        "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
    )
    code = f"{own}print('here', flush=True)\ntime.sleep(600)"
    with popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout.readline() == "here\n" and process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(number)
        assert process.wait() != 0
        if number != signal.SIGINT:  # Python ends itself there
            assert process.returncode == -number


def _seen(_: int) -> tuple[int, str | None, bool]:
    return os.getpid(), os.environ.get("SAID"), hasattr(warm, "MARK")


def test_workers_of_a_pool_have_the_environment_and_no_other_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAID", "now")
    monkeypatch.setattr(warm, "MARK", True, raising=False)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        ((worker, said, marked),) = pool.map(_seen, [0])
    assert worker != os.getpid() and (said, marked) == ("now", False)


def test_a_program_has_a_pool_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    (tmp_path / "task.py").write_text(  # a worker does not run the script again
        "import os, time\nfrom pathlib import Path\n"
        "def work(path):\n    Path(path).write_text(str(os.getpid()))\n    time.sleep(600)\n"
    )
    script.write_text(
        "import sys\nfrom task import work\nfrom ldpsim.strategies.engines.pool import processes\n"
        "if __name__ == '__main__':\n    with processes(1, prepare=None) as pool:\n"
        "        list(pool.in_order(work, [sys.argv[1]]))\n"
    )
    seen = tmp_path / "seen"
    path = os.pathsep.join([os.getcwd(), str(tmp_path)])
    with warm.Popen([sys.executable, script, seen], env={**os.environ, "PYTHONPATH": path}) as process:
        wait_until(lambda: seen.exists() and seen.read_text(), needs=lambda: process.poll() is None)
        process.kill()
    wait_until(lambda: not Path("/proc", seen.read_text(), "cmdline").exists()
               or "\nState:\tZ" in Path("/proc", seen.read_text(), "status").read_text())  # fmt: skip
