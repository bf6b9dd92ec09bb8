"""App that a curator may ship instead of the ClientApp: it asks for everything, in every way it knows.

Put over ``devices/client_app.py`` in a Flower app by ``test_edited_app.py``. It runs on the
device's machine with all the rights of the SuperNode.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from ldpsim.devices import raw_record as handover
from ldpsim.devices.enrolment.state import State, ledger_name
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.mechanisms import GRR, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report
from ldpsim.devices.vault.client import VaultDevice
from ldpsim.devices.vault.protocol import FrameKind

app = ClientApp()


@app.query("report")
def report(message: Message, context: Context) -> Message:
    """Send the curator all that could be got."""
    told = json.loads(str(context.run_config["told"]))
    question = bytes(message.content["query"]["query"])
    node = dict(context.node_config)
    loot: dict[str, Any] = {"device": node["partition-id"], "uid": os.getuid(), "file": __file__}
    loot["supernodes_read"] = sum(_readable(process / "environ") for process in _processes(b"flower-supernode"))
    if "socket" in node:
        loot |= _ask_the_vault(str(node["socket"]), int(node["partition-id"]), question)
        if told["state"]:
            place = Path(told["state"].format(node["partition-id"]))
            loot |= _break_in(place, int(node["partition-id"]), told["root"])
    else:
        loot |= _read_all(Path(str(node["state-dir"])), int(node["partition-id"]), question)
        with tempfile.TemporaryDirectory() as name:  # what is done to it is felt no more than a thief's copy
            copy = Path(shutil.copytree(str(node["state-dir"]), Path(name) / "copy"))
            loot |= _break_in(copy, int(node["partition-id"]), told["root"])
    return Message(RecordDict({"loot": ConfigRecord({"loot": json.dumps(loot)})}), reply_to=message)


def _variants(question: bytes) -> Iterator[tuple[FrameKind, bytes]]:
    query = Query.from_bytes(question)
    facts = json.loads(question)["plan"][0][0]["mechanisms"][0]
    n = facts["n"]
    yield FrameKind.REPORT, question
    for i in range(25):
        yield FrameKind.REPORT, Query(f"again-{i}", query.plan).to_bytes()
    for ask in query.asks:  # one attribute at a time
        yield FrameKind.REPORT, Query("part", ((ask,),)).to_bytes()
    for epsilon in (0.01, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0):  # other budgets, other mechanisms, one stage or two
        row = Ask("adjacency", (RandomizedResponse.from_epsilon(epsilon, n=n),))
        label = Ask("label", (GRR.from_epsilon(epsilon, categories=2),))
        for plan in (((row,),), ((label,),), ((row, label),), ((row,), (label,))):
            yield FrameKind.REPORT, Query("greedy", plan).to_bytes()
        for d in (8, 16, 32):
            yield (
                FrameKind.REPORT,
                Query("greedy", ((Ask("features", (OneBit.from_epsilon(epsilon, d=d),)),),)).to_bytes(),
            )
    yield FrameKind.REPORT, Query("staged", query.plan + query.plan, 1).to_bytes()
    yield FrameKind.REPORT, handover.hand_over("mine").to_bytes()
    for junk in (b"", b"{}", b"\x80\x04\x95", question[:-1], question + b" ", b"[" * 50_000, b"0" * 5_000_000):
        yield FrameKind.REPORT, junk
    for kind in FrameKind:
        yield kind, b""


def _ask_the_vault(path: str, device: int, question: bytes) -> dict[str, Any]:
    found: list[Report] = []
    codes: dict[str, int] = {}
    asked = 0

    def take(answer: Any) -> None:
        if isinstance(answer, Report):
            found.append(answer)
        else:
            codes[answer.name] = codes.get(answer.name, 0) + 1

    vault = VaultDevice(path, device, 20.0)
    variants = list(_variants(question))
    # All at once first, in case two get in; then one after another, twice, and once more all at once.
    for together in (True, False, False, True):
        asked += len(variants)
        if not together:
            for kind, data in variants:
                take(vault._ask(kind, data))
            continue
        threads = [threading.Thread(target=lambda k=k, d=d: take(vault._ask(k, d))) for k, d in variants]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for other in (device + 1, device + 2, 0, 2**31):  # as somebody else
        if other != device:
            asked += 1
            take(VaultDevice(path, other, 20.0).answer(question))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:  # and without any manners
        raw.settimeout(20)
        raw.connect(path)
        raw.sendall(b"\xff" * 64)
        asked += 1
        codes["raw: " + raw.recv(100)[4:].hex()] = 1
    distinct = {hashlib.sha256(answer.data).hexdigest() for answer in found}
    fresh = sum(not answer.replayed for answer in found)
    return {"asked": asked, "answers": len(found), "fresh": fresh, "distinct": sorted(distinct), "codes": codes}


def _readable(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.read(16)
        return True
    except OSError:
        return False


def _processes(words: bytes) -> Iterator[Path]:
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and words in (process / "cmdline").read_bytes():
                yield process


def _break_in(state: Path, device: int, root: str) -> dict[str, Any]:
    """Go past the socket: the vault's files, its memory, its open files; and a second enrolment in its place."""
    got = [str(path) for name in ("secrets.bin", "ledger.sqlite", "enrolment.json", "population/labels.npy")
           if _readable(path := state / name)]  # fmt: skip
    with suppress(OSError):
        got += [str(path) for path in state.iterdir()]
    vaults = list(_processes(f"{root}/vault-{device}/".encode()))
    for process in vaults:
        got += [str(process / name) for name in ("mem", "environ", "maps", "fd/0") if _readable(process / name)]
        with suppress(OSError):
            os.kill(int(process.name), 0)
            got.append(f"may signal {process.name}")
    for harm in (lambda: (state / "ledger.sqlite").unlink(), lambda: state.rename(state.with_name("gone")),
                 lambda: sqlite3.connect(state / "ledger.sqlite").execute("CREATE TABLE release (x)"),
                 lambda: State(state).device(device)):  # fmt: skip
        try:
            harm()
            got.append("a file was changed")
        except Exception:
            continue
    return {"broken_into": got, "vaults_seen": len(vaults)}


def _read_all(state: Path, device: int, question: bytes) -> dict[str, Any]:
    """Without a vault the device's folder is the app's own: read it, and copy it to ask again and again."""
    record = State(state).population.record(device)
    query = Query.from_bytes(question)
    distinct = set()
    for i in range(5):
        with tempfile.TemporaryDirectory() as name:
            shutil.copytree(state, Path(name) / "copy", ignore=shutil.ignore_patterns("ledger*"))
            Ledger.create(Path(name) / "copy" / ledger_name(0)).close()  # the folder's own code makes an empty one
            (Path(name) / "copy" / "secrets.bin").write_bytes(os.urandom((state / "secrets.bin").stat().st_size))
            answer = State(Path(name) / "copy").device(device).answer(Query(f"copy-{i}", query.plan))
            assert isinstance(answer, Report)
            distinct.add(hashlib.sha256(answer.data).hexdigest())
    raw = {"neighbours": record.neighbours.tolist(), "features": record.feature_indices.tolist(), "label": record.label}
    return {"raw": raw, "distinct": sorted(distinct)}
