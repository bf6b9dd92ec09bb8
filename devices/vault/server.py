"""The vault: a process of the device's own that alone has its data, secret, policy and ledger.

A curator ships the ClientApp, so a refusal written in it binds only a curator who does not
edit it. The vault is outside the app: it answers a query over a local socket
(:mod:`ldpsim.devices.vault.protocol`) and nothing else. It gives the same answers as the device itself.

One loop reads all questions and writes all answers, so connections that are slow cost nothing but
their place (:mod:`ldpsim.devices.vault.gate`). One thread judges the questions, one of each process at a
time in turn: nobody waits for more than one question of another process. The price of judging
one is bounded (:mod:`ldpsim.devices.query`).

The ledgers are opened when the vault starts. One that is missing or damaged then, or is removed
or replaced later, answers nothing, and is never made anew.

It protects only where the app cannot read the vault's files: run it as an operating
system user of its own.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import Counter
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from ldpsim.devices.device import Device, Refusal
from ldpsim.devices.enrolment.state import State, ledger_name
from ldpsim.devices.ledger.ledger import LedgerDamaged
from ldpsim.devices.report import Report
from ldpsim.devices.vault import protocol
from ldpsim.devices.vault.gate import Caller, CallerPhase, Gate, peer, room_for
from ldpsim.devices.vault.protocol import FrameError, FrameKind

CONNECTIONS = 512
PER_PROCESS = 16
SECONDS = 5.0
_POLL_SECONDS = 0.5  # how soon a vault notices that it shall stop
_BUSY = protocol.frame(protocol.pack_answer(Refusal.VAULT_BUSY))
_log = logging.getLogger(__name__)


class Vault:
    """Answers the questions that come through a socket, for the devices of one state folder.

    Args:
        state: The enrolled folder.
        connections: Largest number of open connections.
        per_user: Largest number of one user; None for half of them.
        per_process: Largest number of one process.
        seconds: How long a question may take to arrive, and an answer to be taken.

    Raises:
        ValueError: where the folder is damaged, or its devices are of a mode that no vault serves.
    """

    def __init__(
        self,
        state: State,
        *,
        connections: int = CONNECTIONS,
        per_user: int | None = None,
        per_process: int = PER_PROCESS,
        seconds: float = SECONDS,
    ) -> None:
        self.state = state
        self.seconds = seconds
        self.counts: Counter[str] = Counter()
        if state.policy.mode not in ("report", "owner"):
            raise ValueError(f"{state.folder}: a vault serves devices of mode report or owner, not {state.policy.mode}")
        state.seal_key(state.residents[0])  # damage is told now, in one line, and not to a curator later
        facts = state.population.facts
        self._limit = protocol.question_limit(facts.n, facts.classes, facts.d)
        self.damaged = {name: reason for name, first in _ledgers(state).items() if (reason := self._open(name, first))}
        self._gate = Gate(room_for(connections), per_user=per_user, per_process=per_process)
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._conversations: set[asyncio.Task[None]] = set()
        self._answering, self._counting = threading.Lock(), threading.Lock()
        self._stopping = False

    def _open(self, name: str, device: int) -> str:
        """Open a ledger, and return the reason why it is damaged, empty where it is not."""
        path = self.state.folder / name
        if not path.is_file():  # enrolment made it
            return "is missing"
        try:
            self.state.ledger(device)
        except (LedgerDamaged, OSError) as error:
            return f"is damaged ({error})"
        return ""

    def respond(self, payload: bytes) -> bytes:
        """Return the answer to a question; nothing is raised, whatever the question is."""
        try:
            answer = self._answer(payload)
        except FrameError:
            answer = Refusal.UNKNOWN_QUERY
        except Exception as error:
            # The text of an error may hold data; its kind does not.
            _log.error("a question failed: %s", type(error).__name__)
            answer = Refusal.LEDGER_DAMAGED
        kind = answer.name if isinstance(answer, Refusal) else "replayed" if answer.replayed else "reported"
        self._count(kind)
        return protocol.pack_answer(answer)

    def _answer(self, payload: bytes) -> Report | Refusal:
        asked = protocol.unpack_question(payload)
        # A query is parsed, judged and entered by one thread: a ledger has one writer anyway.
        with self._answering:
            try:
                device = self._device(asked.device)
            except (LedgerDamaged, IndexError, ValueError, OSError):
                return Refusal.LEDGER_DAMAGED  # what the ClientApp says of a device that it cannot open
            if asked.kind is FrameKind.REPORT:
                answer = device.answer(asked.question)
            elif asked.kind is FrameKind.HANDOVER:
                answer = device.hand_over(asked.question)
            elif asked.kind is FrameKind.OTHER_MODE:
                answer = device.refuse_mode()
            else:
                answer = device.refuse_unknown()
        if isinstance(answer, Report) and not answer.replayed:
            _log.info("device %d released a report of %d bytes", asked.device, len(answer.data))
        return answer

    def _device(self, index: int) -> Device:
        if ledger_name(index // self.state.shard) in self.damaged:  # what is there by now waits for another start
            raise LedgerDamaged("the ledger was missing or damaged at the start")
        return self.state.device(index)

    def _count(self, kind: str) -> None:
        with self._counting:
            self.counts[kind] += 1

    def serve(self, listener: socket.socket) -> None:
        """Answer until :meth:`stop`; open connections are still answered then."""
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="vault") as judge:
                asyncio.run(self._serve(listener, judge))
        finally:
            listener.close()
            with self._answering:
                self.state.close()

    async def _serve(self, listener: socket.socket, judge: ThreadPoolExecutor) -> None:
        listener.setblocking(False)
        accepting = asyncio.create_task(self._accept(listener, judge))
        while not self._stopping:
            await asyncio.sleep(_POLL_SECONDS)
        accepting.cancel()
        listener.close()
        if self._conversations:
            await asyncio.wait(self._conversations, timeout=2 * self.seconds + 1)

    async def _accept(self, listener: socket.socket, judge: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
                connection.setblocking(False)
                process, user = peer(connection)
            except OSError:
                # The other side has gone again, or no file descriptor is left: the next one may do better.
                await asyncio.sleep(0.01)
                continue
            caller = Caller(process, user, leave=lambda: None)
            if self._gate.admit(caller):
                self._start(caller, connection, self._converse(caller, connection, judge))
            else:
                self._turn_away(connection)
                connection.close()
            await asyncio.sleep(0)  # a flood of connections leaves the others their share of the loop

    def _start(self, caller: Caller, connection: socket.socket, conversation: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(conversation)
        self._conversations.add(task)

        def leave() -> None:
            if caller.phase is CallerPhase.READING:  # a part of an answer may be on its way else
                self._turn_away(connection)
            task.cancel()

        def end(_: asyncio.Task[None]) -> None:  # a task that was cancelled before its first step ran nothing
            self._conversations.discard(task)
            self._gate.forget(caller)
            connection.close()

        caller.leave = leave
        task.add_done_callback(end)

    def _turn_away(self, connection: socket.socket) -> None:
        self._count(Refusal.VAULT_BUSY.name)
        with suppress(OSError):
            connection.send(_BUSY)

    async def _converse(self, caller: Caller, connection: socket.socket, judge: ThreadPoolExecutor) -> None:
        try:
            try:
                async with asyncio.timeout(self.seconds):
                    asked = await protocol.receive_frame(connection, limit=self._limit)
            except (FrameError, TimeoutError):
                # Late, cut off or too long: there is nothing to find the next frame by.
                answer = protocol.pack_answer(Refusal.UNKNOWN_QUERY)
                self._count("broken")
            else:
                caller.phase = CallerPhase.JUDGED
                turn = self._turns.setdefault(caller.process, asyncio.Lock())
                async with turn:
                    answer = await asyncio.get_running_loop().run_in_executor(judge, self.respond, asked)
            caller.phase = CallerPhase.ANSWERED
            async with asyncio.timeout(self.seconds):
                await protocol.send_frame(connection, answer)
        except (TimeoutError, OSError):
            pass  # nobody takes the answer; what was released stands in the ledger, and a retry gets it
        except Exception as error:
            _log.error("a connection failed: %s", type(error).__name__)

    def stop(self) -> None:
        """End :meth:`serve`; may be called from a signal handler or another thread."""
        self._stopping = True


def _ledgers(state: State) -> dict[str, int]:
    """Return the name of each ledger of the folder, with a device that it is for."""
    return {ledger_name(device // state.shard): device for device in reversed(state.residents)}
