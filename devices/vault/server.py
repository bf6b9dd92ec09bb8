"""The vault: a process of the device's own that alone has its data, secret, policy and ledger.

A curator ships the ClientApp, so a refusal written in it binds only a curator who does not
edit it. The vault is outside the app: it answers a query over a local socket
(:mod:`devices.vault.protocol`) and nothing else. It gives the same answers as the device itself.

It protects only where the app cannot read the vault's files: run it as an operating
system user of its own.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import Counter
from contextlib import suppress

from devices.device import Device, Refusal, Report
from devices.enrolment.state import State, ledger_name
from devices.ledger.ledger import LedgerDamaged
from devices.vault import protocol
from devices.vault.protocol import FrameError, FrameKind

CONNECTIONS = 16
SECONDS = 5.0
_POLL_SECONDS = 0.5  # how soon a vault notices that it shall stop
_log = logging.getLogger(__name__)


class Vault:
    """Answers the questions that come through a socket, for the devices of one state folder.

    Args:
        state: The enrolled folder.
        connections: How many are served at once; others wait in the kernel's queue.
        seconds: How long a question may take to arrive, and an answer to be taken.

    Raises:
        ValueError: where the folder is damaged, or its devices are of a mode that no vault serves.
    """

    def __init__(self, state: State, *, connections: int = CONNECTIONS, seconds: float = SECONDS) -> None:
        self.state = state
        self.seconds = seconds
        self.counts: Counter[str] = Counter()
        if state.policy.mode not in ("report", "owner"):
            raise ValueError(f"{state.folder}: a vault serves devices of mode report or owner, not {state.policy.mode}")
        self.missing = tuple(
            name
            for name in sorted({ledger_name(device // state.shard) for device in state.residents})
            if not (state.folder / name).is_file()
        )
        state.seal_key(state.residents[0])  # damage is told now, in one line, and not to a curator later
        self._limit = protocol.question_limit(state.population.facts.n)
        self._connections = connections
        self._answering = threading.Lock()
        self._stopping = False

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
        with self._answering:
            self.counts[kind] += 1
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
        # An enrolled folder has its ledgers. One that is gone would be made anew, and the device would answer again.
        if ledger_name(index // self.state.shard) in self.missing:
            raise LedgerDamaged("the ledger is missing")
        return self.state.device(index)

    def serve(self, listener: socket.socket) -> None:
        """Answer until :meth:`stop`; open connections are still answered then."""
        listener.setblocking(True)
        workers = [threading.Thread(target=self._work, args=(listener,), daemon=True) for _ in range(self._connections)]
        for worker in workers:
            worker.start()
        while not self._stopping:
            time.sleep(_POLL_SECONDS)
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes those who wait in accept
        deadline = time.monotonic() + 2 * self.seconds + 1
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        listener.close()
        with self._answering:
            self.state.close()

    def _work(self, listener: socket.socket) -> None:
        while not self._stopping:
            try:
                connection, _ = listener.accept()
            except OSError:
                # The other side has gone again, or no file descriptor is left: the next one may do better.
                time.sleep(0.01)
                continue
            self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        try:
            with connection:
                try:
                    asked = protocol.read_frame(connection, limit=self._limit, deadline=time.monotonic() + self.seconds)
                    answer = self.respond(asked)
                except FrameError:
                    # Late, cut off or too long: there is nothing to find the next frame by.
                    answer = protocol.pack_answer(Refusal.UNKNOWN_QUERY)
                    with self._answering:
                        self.counts["broken"] += 1
                protocol.write_frame(connection, answer, deadline=time.monotonic() + self.seconds)
        except (FrameError, OSError):
            pass  # nobody takes the answer; what was released stands in the ledger, and a retry gets it
        except Exception as error:  # a worker that ends would be missing for ever
            _log.error("a connection failed: %s", type(error).__name__)

    def stop(self) -> None:
        """End :meth:`serve`; may be called from a signal handler or another thread."""
        self._stopping = True
