"""A ledger whose files are removed or replaced while a process serves it: the process notices before it replies.

Real processes, which are killed: what went into a file that has no name any more ends with them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.schema import OpenFiles
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from tests import warm

ROOT = Path(__file__).parents[3]
WAYS = ("removed", "moved", "copied", "old", "empty")

LOOP = """
import json, os, shutil, signal, sys
from pathlib import Path
from ldpsim.devices.device import answer
from ldpsim.devices.report import Report
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.ledger.ledger import Ledger

enrolled, ways, (first, second) = Path(sys.argv[1]), sys.argv[2].split(), map(bytes.fromhex, sys.argv[3:])

def harm(path, way):
    old = path.with_name("old")
    if way == "removed":
        path.unlink()
    elif way == "moved":
        path.rename(path.with_name("moved"))
    else:
        if way == "copied":
            shutil.copy(path, old)
        elif way == "empty":
            old.write_bytes(b"")
        os.replace(old, path)

def name(answer):
    return answer.data.hex() if isinstance(answer, Report) else answer.name

def in_child(work):
    out = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(out[1], json.dumps(work()).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(out[1])
    with os.fdopen(out[0]) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return json.loads(said)

def serve(folder, ending, way, moment, together):
    state = State(folder)
    path = Path(f"{state.ledger(0).path}{ending}")
    shutil.copy(path, path.with_name("old"))
    state.device(1).answer(first)
    if moment == "before":
        harm(path, way)
    else:
        enter = Ledger.enter
        def entering(*given):
            enter(*given)
            harm(path, way)
        Ledger.enter = entering
    return name(answer(state, [2, 3] if together else [3], first)[-1])

def restart(folder):
    try:
        return name(State(folder).device(3).answer(second))
    except Exception as error:
        return type(error).__name__

found = []
for moment in ("before", "between entry and commit"):
    for way in ways:
        for ending in ("", "-wal", "-shm"):
            together = len(found) % 2 == 0
            folder = Path(shutil.copytree(enrolled, enrolled.with_name(f"state-{len(found)}")))
            said = in_child(lambda: serve(folder, ending, way, moment, together))
            found.append([f"{moment} {way} {ending}", said, in_child(lambda: restart(folder))])
print(json.dumps(found))
"""


def test_no_answer_goes_into_a_file_without_a_name(
    tmp_path: Path, population: Population, policy_of: Callable[..., Policy], ask_for: Callable[..., Query]
) -> None:
    folder = tmp_path / "state"
    enrol(folder, population, policy_of(population), seed=3).close()
    asked = [ask_for("one", eps=1.0).to_bytes().hex(), ask_for("two", eps=2.0).to_bytes().hex()]
    done = warm.run([sys.executable, "-c", LOOP, str(folder), " ".join(WAYS), *asked],
                    cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 2 * len(WAYS) * 3
    assert [(what, said) for what, said, _ in found if said != "LEDGER_DAMAGED"] == []
    # Power: who was not answered is answered after the restart, where the ledger can be read.
    assert sum(later.isalnum() and later == later.lower() for *_, later in found) >= 8


def test_files_are_told_apart_by_device_and_inode(tmp_path: Path) -> None:
    path = tmp_path / "one"
    path.write_bytes(b"1")
    with pytest.raises(OSError):
        OpenFiles(path, ("", "-wal"))
    files = OpenFiles(path, ("",))
    path.write_bytes(b"written in place")
    files.check()
    (tmp_path / "two").write_bytes(b"written in place")
    (tmp_path / "two").rename(path)
    with pytest.raises(OSError, match="was replaced while it was open"):
        files.check()
    path.unlink()
    with pytest.raises(OSError):
        files.check()
