"""The vault: a process of the device's own that alone has its data, secret, policy and ledger.

A curator ships the ClientApp, so a refusal written in it binds only a curator who does not
edit it. The vault is outside the app: it answers a query over a local socket
(:mod:`ldpsim.devices.vault.protocol`) and nothing else. It gives the same answers as the device itself.

Each connection has a thread and a deadline. Questions are judged one at a time, and the price of judging one is
bounded (:mod:`ldpsim.devices.query`). A connection beyond the largest number, in all, of one user or of one process,
gets ``VAULT_BUSY``. The kernel tells process and user of the other side (``SO_PEERCRED``); nobody can lie about them.

The ledgers are opened when the vault starts. One that is missing or damaged then, or is removed
or replaced later, answers nothing, and is never made anew.

It protects only where the app cannot read the vault's files: run it as an operating
system user of its own.
"""

from __future__ import annotations

import logging
import resource
import socket
import struct
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, ledger_name
from ldpsim.devices.ledger.ledger import LedgerDamaged
from ldpsim.devices.report import Report
from ldpsim.devices.vault import protocol
from ldpsim.devices.vault.protocol import FrameError, FrameKind

CONNECTIONS = 512
PER_PROCESS = 16
SECONDS = 5.0
_POLL_SECONDS = 0.5  # how soon a vault notices that it shall stop
_OTHER_FILES = 64  # the ledgers, the records, the listener, and what libraries open
_CREDENTIALS = struct.Struct("3i")
_log = logging.getLogger(__name__)


class Vault:
    """Answers the questions that come through a socket, for the devices of one state folder.

    Args:
        state: The enrolled folder.
        connections: Largest number of open connections; half of them of one user, :data:`PER_PROCESS` of one process.
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
        state.seal_key(state.residents[0])  # damage is told now, in one line, and not to a curator later
        facts = state.population.facts
        self._limit = protocol.question_limit(facts.n, facts.classes, facts.d)
        ledgers = {ledger_name(device // state.shard): device for device in reversed(state.residents)}
        self.damaged = {name: reason for name, first in ledgers.items() if (reason := self._open(name, first))}
        self._most = _room_for(connections)
        self._callers: Counter[object] = Counter()  # open connections: in all, by user, by process
        self._answering, self._counting = threading.Lock(), threading.Lock()
        self._stopping = False

    def _open(self, name: str, device: int) -> str:
        """Open a ledger, and return the reason why it is damaged, empty where it is not."""
        if not (self.state.folder / name).is_file():  # enrolment made it
            return "is missing"
        try:
            self.state.ledger(device)
        except (LedgerDamaged, OSError) as error:
            return f"is damaged ({error})"
        return ""

    def respond(self, payload: bytes) -> bytes:
        """Return the answer to a question; nothing is raised, whatever the question is."""
        try:
            answer = self._answer(*protocol.unpack_question(payload))
        except FrameError:
            answer = Refusal.UNKNOWN_QUERY
        except Exception as error:
            # The text of an error may hold data; its kind does not.
            _log.error("a question failed: %s", type(error).__name__)
            answer = Refusal.LEDGER_DAMAGED
        self._count(answer.name if isinstance(answer, Refusal) else "replayed" if answer.replayed else "reported")
        return protocol.pack_answer(answer)

    def _answer(self, kind: FrameKind, index: int, question: bytes) -> Report | Refusal:
        # A query is parsed, judged and entered by one thread: a ledger has one writer anyway.
        with self._answering:
            if ledger_name(index // self.state.shard) in self.damaged:  # what is there by now waits for another start
                return Refusal.LEDGER_DAMAGED
            try:
                device = self.state.device(index)
            except (IndexError, ValueError):
                return Refusal.LEDGER_DAMAGED  # what the ClientApp says of a device that it cannot open
            if kind is FrameKind.REPORT:
                answer = device.answer(question)
            else:
                other_mode = kind is FrameKind.OTHER_MODE
                answer = device.refuse(Refusal.MODE_REFUSED if other_mode else Refusal.UNKNOWN_QUERY)
        if isinstance(answer, Report) and not answer.replayed:
            _log.info("device %d released a report of %d bytes", index, len(answer.data))
        return answer

    def _count(self, kind: str) -> None:
        with self._counting:
            self.counts[kind] += 1

    def serve(self, listener: socket.socket) -> None:
        """Answer until :meth:`stop`; open connections are still answered then."""
        listener.settimeout(_POLL_SECONDS)
        try:
            with ThreadPoolExecutor(self._most, thread_name_prefix="vault") as conversations, listener:
                while not self._stopping:
                    try:
                        connection, _ = listener.accept()
                        self._welcome(connection, conversations)
                    except TimeoutError:
                        pass
                    except OSError:
                        # The other side has gone again, or no file descriptor is left: the next one may do better.
                        time.sleep(0.01)
        finally:
            with self._answering:
                self.state.close()

    def _welcome(self, connection: socket.socket, conversations: ThreadPoolExecutor) -> None:
        """Start a conversation, which closes the connection, or turn it away."""
        with ExitStack() as stack:
            stack.enter_context(connection)
            caller = _peer(connection)
            if self._admits(*caller):
                conversations.submit(self._converse, connection, *caller)
                stack.pop_all()
            else:
                self._turn_away(connection)

    def _admits(self, process: int, user: int) -> bool:
        """Note a new connection, and return True, unless it is beyond a limit."""
        limits = {"all": self._most, ("user", user): max(1, self._most // 2), ("process", process): PER_PROCESS}
        with self._counting:
            if any(self._callers[key] >= most for key, most in limits.items()):
                return False
            self._callers.update(limits.keys())
        return True

    def _turn_away(self, connection: socket.socket) -> None:
        self._count(Refusal.VAULT_BUSY.name)
        with suppress(OSError, FrameError):
            protocol.write_frame(connection, protocol.pack_answer(Refusal.VAULT_BUSY), deadline=time.monotonic() + 0.1)

    def _converse(self, connection: socket.socket, process: int, user: int) -> None:
        try:
            with connection:
                try:
                    deadline = time.monotonic() + self.seconds
                    answer = self.respond(protocol.read_frame(connection, limit=self._limit, deadline=deadline))
                except FrameError:
                    # Late, cut off or too long: there is nothing to find the next frame by.
                    answer = protocol.pack_answer(Refusal.UNKNOWN_QUERY)
                    self._count("broken")
                protocol.write_frame(connection, answer, deadline=time.monotonic() + self.seconds)
        except (FrameError, OSError):
            pass  # nobody takes the answer; what was released stands in the ledger, and a retry gets it
        except Exception as error:
            _log.error("a connection failed: %s", type(error).__name__)
        finally:
            with self._counting:
                self._callers.subtract(("all", ("user", user), ("process", process)))
                self._callers = +self._callers

    def stop(self) -> None:
        """End :meth:`serve`; may be called from a signal handler or another thread."""
        self._stopping = True


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Return process and user of the other side of a local connection; zeros where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return 0, 0
    process, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return process, user


def _room_for(connections: int) -> int:
    """Return how many of so many connections the process may open: file descriptors must be left for its own files."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return connections if allowed == resource.RLIM_INFINITY else max(1, min(connections, allowed - _OTHER_FILES))
