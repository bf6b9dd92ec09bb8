"""A process that runs ``ldpsim`` commands in forks of itself, and has them killed at a chosen moment.

One JSON line in: ``{"args": [...], "moment": NAME or null, "count": K}``; one line out: the exit
code, negative for a signal. The command kills itself (SIGKILL) when the moment comes for the
K-th time. A fork saves the seconds in which Python loads torch and the accountants, and builds the
commands; the command is the real one.

=============  ==================================================================
entry          a device's row is written, and the transaction is not committed
reply          a device's reply leaves; its row is committed, and nobody has it
grouping       the questions of a round are saved, and not sent
chunk          a chunk of teachers is on the disk
unsaved        a round is finished, and its checkpoint is not there yet
saved          a round's checkpoint is there, and the next round is not begun
result         everything is done, and result.json is not there yet
=============  ==================================================================
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import dp_accounting.pld
import dp_accounting.rdp  # noqa: F401
from typer.main import get_command

from ldpsim.cli.main import app
from ldpsim.devices import fleet
from ldpsim.devices.enrolment import state as enrolment
from ldpsim.devices.federated.messages import RoundAnswers
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds import several_rounds
from ldpsim.strategies.rounds.checkpoint import CheckpointFile
from ldpsim.strategies.runs import simulate as simulation
from ldpsim.strategies.runs.kinds import owner as teaching
from tests.strategies.forks import serve

COMMAND = get_command(app)
BATCH = 8  # devices that share a commit: a kill then falls within a round, too


def run(args: list[str], moment: str | None, count: int) -> None:
    """Run a command that dies when its moment has come."""
    left = count

    def strike() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(owner: Any, name: str, *, first: bool, times: Callable[..., int] = lambda *_, **__: 1) -> None:
        inner: Callable[..., Any] = getattr(owner, name)

        def wrapped(*given: Any, **named: Any) -> Any:
            if first:
                strike()
            found = inner(*given, **named)
            if not first:
                for _ in range(times(*given, **named)):
                    strike()
            return found

        setattr(owner, name, wrapped)

    begin = Fleet.__init__
    Fleet.__init__ = lambda self, state, **named: begin(self, state, **{**named, "batch": BATCH})  # type: ignore[assignment,method-assign,misc]
    enrolment.SHARD = outbox.SHARD = BATCH  # a message to many is for the devices of one shard
    if moment == "entry":
        around(Ledger, "enter", first=False, times=lambda ledger, answers, *_: len(answers))
    elif moment == "reply":
        deliver = LocalGrid.deliver

        def leaving(messages: Iterable[Any]) -> Iterator[Any]:
            for reply in messages:
                many = reply.content.get("reports") if reply.has_content() else None
                for _ in range(1 if many is None else len(many["statuses"])):
                    strike()
                yield reply

        def delivered(self: LocalGrid, messages: Any) -> Any:
            replies = deliver(self, messages)
            return replies if isinstance(replies, RoundAnswers) else leaving(replies)

        LocalGrid.deliver = delivered  # type: ignore[method-assign]
        around(fleet, "answer_round", first=False, times=lambda store, devices, *_: len(devices))
    elif moment is not None:
        owner, name, first = {
            "grouping": (several_rounds, "made_once", False), "chunk": (teaching, "train_chunk", False),
            "unsaved": (CheckpointFile, "save", True), "saved": (CheckpointFile, "save", False),
            "result": (run_folder, "write_result", True),
        }[moment]  # fmt: skip
        around(owner, name, first=first)
    assert simulation.run_folder is run_folder
    COMMAND(args, prog_name="ldpsim")


def main() -> None:
    """Serve until the input ends."""
    serve(_command)


def _command(wanted: Any) -> int:
    try:
        run(wanted["args"], wanted["moment"], wanted["count"])
    except SystemExit as end:
        return int(end.code or 0)
    return 1


if __name__ == "__main__":
    main()
