"""One schedule: hosts that are asked, killed, copied, put back and cut off, step by step, before a judge.

A step is a name and a number. The number seeds all of the step's own choices, so a step means the same when other
steps before it are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from flwr.app import Context, Message, RecordDict

from ldpsim.devices import client_app, wire
from ldpsim.devices.device import Refusal, answer
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.mechanisms.codecs import GAPS
from ldpsim.devices.report import Report
from ldpsim.devices.vault import protocol
from ldpsim.devices.vault.protocol import FrameKind
from ldpsim.devices.vault.server import Vault
from tests.faults.computers import Plan, Process
from tests.faults.hosts import Copy, Mail
from tests.faults.judge import Judge, Violation
from tests.faults.paper import Asked, Lineage, Outcome, split
from tests.faults.questions import BEYOND, FORGERIES, HONEST, PLANS, Question, bytes_of, query_of, spoilt
from tests.faults.world import HOSTS, Setting, World

Step = tuple[str, int]
OUTDATED = "outdated"  # among what a process has open: a file of its ledger was removed or replaced since


class Life:
    """A schedule that runs.

    Args:
        world: The world, which is put back to its beginning.
        setting: What its devices were enrolled with.
        seed: Seeds what the whole schedule has in common.
        twin: Whether the people have other records, which nothing but the bytes of reports may depend on.
    """

    doors: tuple[str, ...] = ("device", "app", "vault", "together")
    questions = (*HONEST, PLANS[0], PLANS[0], PLANS[0])

    def __init__(self, world: World, setting: Setting, seed: int, *, twin: bool = False) -> None:
        self.world, self.computers = world, world.computers
        self.setting = setting
        world.begin(self.setting)
        if twin:
            world.records.update(dict.fromkeys(HOSTS, 1))
        rng = Random(seed)
        self.main = rng.choice(self.questions)
        self.door = rng.choice(self.doors)
        self.host = rng.choice(sorted(HOSTS))
        counted = bool(self.setting.counter)
        self.judge = Judge({name: Lineage(counted, self.setting.replay) for name in HOSTS})
        for name, residents in HOSTS.items():
            for person in residents:
                self.judge.states[person] = {(((name, ()),), ())}
        self.copies = {name: Copy(name, world.disks.disk(name)) for name in HOSTS}
        self.snapshots: dict[str, dict[str, bytes]] = {}
        self.mail: list[Mail] = []
        self.collection: Any = None
        self.twin = twin
        self.faults = self.asks = 0
        self.story: list[str] = []
        self.codes: list[str] = []
        self.hurt: set[Process] = set()
        self.trouble = False  # whether devices that were asked since the last judgement may have failed
        self.last_steps = 12

    # --- processes --------------------------------------------------------------------------

    def tell(self, text: str) -> None:
        self.story.append(text)

    def process(self, copy: Copy, rng: Random) -> Process:
        """Return a process that serves the copy; one is started if there is none."""
        return rng.choice(copy.processes) if copy.processes else self.start(copy)

    def start(self, copy: Copy) -> Process:
        if not copy.processes:  # it opens the log anew, and finds what a dead process left in it
            self.judge.copied(copy.residents, copy.name, copy.name)
        process = Process(copy.name, f"process {len(copy.processes) + 1} of {copy.name}")
        self.computers.run(process, lambda: self._open(process, copy))
        copy.processes.append(process)
        return process

    def _open(self, process: Process, copy: Copy) -> None:
        try:
            self.ledger(copy, process)
        except (LedgerDamaged, ValueError, OSError):
            self.hurt.add(process)

    def ledger(self, copy: Copy, process: Process) -> Ledger:
        """Return the ledger of a copy, as a process has it open."""
        return self.world.state_of(process, str(copy.folder)).ledger(copy.residents[0])

    def end(self, process: Process) -> None:
        """Give up what a dead process, or one that is told to stop, had open."""
        self.computers.bury(process)
        for copy in self.copies.values():
            if process in copy.processes:
                copy.processes.remove(process)
        self.hurt.discard(process)

    def stop(self, process: Process) -> None:
        def close() -> None:
            for opened in process.opened.values():
                if isinstance(opened, State):
                    try:
                        opened.close()
                    except Exception:
                        return

        self.computers.run(process, close)
        self.end(process)

    def power(self, copy: Copy, rng: Random) -> str:
        for process in list(copy.processes):
            self.end(process)
        return copy.disk.lose_power(rng)

    # --- asking -----------------------------------------------------------------------------

    def troubled(self, copy: Copy, process: Process) -> bool:
        """Return whether a device may fail now through no fault of its own."""
        place = self.world.disks.disk("c")
        server = self.world.server
        away = {"file": place.full or place.broken, "server": server.down or bool(server.breaks)}
        return process in self.hurt or copy.disk.full or copy.disk.broken or away.get(self.setting.counter, False)

    def ask(self, copy: Copy, process: Process, people: Sequence[int], mail: Mail,
            door: str | Callable[[], list[Any]], plan: Plan | None = None) -> list[Outcome]:  # fmt: skip
        """Ask devices, and return the replies that leave; none where the process dies."""
        self.computers.seconds += 0.25
        self.asks += len(people)
        self.trouble |= self.troubled(copy, process)
        before = self.computers.steps
        try:
            said = self.computers.run(process, lambda: self._served(copy, process, people, mail, door), plan)
        except Exception as error:
            if isinstance(error, Violation):
                raise
            raise Violation(f"{type(error).__name__} escapes from a device of {copy.name}: {error}") from error
        self.last_steps = max(4, self.computers.steps - before)
        if process.dead or said is None:
            return [Outcome("")] * len(people)
        outcomes = [_outcome(answer) for answer in said]
        for person, outcome in zip(people, outcomes, strict=True):
            # Where a nonce rotted, another one is drawn from.
            size = "" if self.judge.lineages[copy.name[0]].loose else f" {self._size(mail.question, outcome)} bytes"
            self.codes.append(f"{outcome.code}{size}, step {self.computers.steps}")
            if outcome.reports:
                self._durable(copy, person, mail.question, outcome)
        return outcomes

    def _served(
        self, copy: Copy, process: Process, people: Sequence[int], mail: Mail, door: str | Callable[[], list[Any]]
    ) -> Any:
        if not isinstance(door, str):
            return door()
        if door == "vault":
            return [self._by_vault(copy, process, person, mail.data) for person in people]
        if door == "app":
            return [self._by_app(copy, person, mail.data) for person in people]
        try:
            state = self.world.state_of(process, str(copy.folder))
            if door == "together":
                return answer(state, list(people), mail.data)
        except (LedgerDamaged, ValueError, OSError):
            return [Refusal.LEDGER_DAMAGED] * len(people)
        return [self._by_device(state, person, mail.data) for person in people]

    @staticmethod
    def _by_device(state: State, person: int, data: bytes) -> Report | Refusal:
        try:
            return state.device(person).answer(data)
        except (LedgerDamaged, ValueError, OSError):
            return Refusal.LEDGER_DAMAGED

    def _by_app(self, copy: Copy, person: int, data: bytes) -> Report | Refusal:
        content = RecordDict({"query": wire.ConfigRecord({"query": data})})
        config: Any = {"state-dir": str(copy.folder), "partition-id": person}
        context = Context(1, person + 1, config, RecordDict(), {})
        return self.read(client_app.app(Message(content, person + 1, wire.QUERY_TYPE), context))

    def read(self, message: Message) -> Report | Refusal:
        """Return what a device's message says."""
        found = wire.read_reply(message)
        if found is None:
            raise Violation("a device sent no reply that can be read")
        return found[1] if isinstance(found, tuple) else found

    def _by_vault(self, copy: Copy, process: Process, person: int, data: bytes) -> Report | Refusal:
        vault = process.opened.get("vault")
        if vault is None:
            try:
                vault = process.opened["vault"] = Vault(self.world.state_of(process, str(copy.folder)))
            except (LedgerDamaged, ValueError, OSError):
                return Refusal.LEDGER_DAMAGED
        return protocol.unpack_answer(vault.respond(protocol.pack_question(FrameKind.REPORT, person, data)))

    @staticmethod
    def _size(question: Question, outcome: Outcome) -> int:
        """Return the bytes of a reply; a noisy list without ones, which takes a byte less, as one with ones."""
        if not outcome.reports or "adjacency" not in question.attributes or question.staged:
            return len(outcome.data)
        piece = split(outcome.data)[question.attributes.index("adjacency")]
        return len(outcome.data) + (split(piece) == [bytes([GAPS])])

    def _durable(self, copy: Copy, person: int, question: Question, outcome: Outcome) -> None:
        """Check that what leaves is on the medium of its machine already."""
        medium = [content.synced for _, content in sorted(copy.disk.safe.items(), reverse=True)]  # the log first
        for name, row in zip(question.attributes, self.rows(question, outcome), strict=False):
            if not any(row in file for file in medium):
                raise Violation(
                    f"the reply of device {person} about {name} left before it was on the disk of {copy.name}"
                )

    def rows(self, question: Question, outcome: Outcome) -> list[bytes]:
        """Return what a ledger has of a report, by attribute."""
        pairs = zip(question.attributes, split(outcome.data), strict=False)
        return [self.mark(question, name) + self.kept(data) for name, data in pairs]

    def doors_of_two(self, rng: Random) -> tuple[str, str]:
        """Return the doors of two processes that are asked at once."""
        return "device", "device"

    def mark(self, question: Question, name: str) -> bytes:
        """Return what stands in a ledger in front of a report."""
        return name.encode() + query_of(question).fingerprint(name)

    def kept(self, data: bytes) -> bytes:
        """Return what the ledger keeps of a report."""
        return data

    def judged(self, copy: Copy, process: Process, people: Sequence[int], mail: Mail, outcomes: Sequence[Outcome],
               fault: str) -> None:  # fmt: skip
        fault = fault or ("failed" if self.trouble else "")
        self.trouble = False
        said = ", ".join(
            f"{person} {outcome.code or 'nothing'}" for person, outcome in zip(people, outcomes, strict=True)
        )
        self.tell(f"{process.name} is asked for {mail.question}: {said}")
        for person, outcome in zip(people, outcomes, strict=True):
            self.judge.ask(person, self.asked(copy, process, mail), outcome, fault=fault)

    def asked(self, copy: Copy, process: Process, mail: Mail) -> Asked:
        number = len(self.judge.asks) + 1
        self.judge.asks[number] = mail.question
        return Asked(number, copy.name, mail.question, mail.refusal, bool(process.opened.get(OUTDATED)))

    # --- choices ----------------------------------------------------------------------------

    def copy(self, rng: Random) -> Copy:
        """Return a copy, mostly of the schedule's own host."""
        name = rng.choice(sorted(self.copies))
        if name[0] != self.host and rng.random() < 0.7:
            name = rng.choice([name for name in sorted(self.copies) if name[0] == self.host])
        self.copies[name].touched = True
        return self.copies[name]

    def letter(self, rng: Random, copy: Copy, person: int) -> Mail:
        """Return a question to a device: mostly the schedule's own, at times another or a hostile one."""
        kind = rng.random()
        question = self.main
        if kind > 0.9:
            return self.hostile(rng, copy, person)
        if kind > 0.55 or (question.staged and kind > 0.25):
            question = rng.choice(PLANS if question.staged and kind < 0.75 else HONEST)
        return self.mail_of(copy, person, question)

    def mail_of(self, copy: Copy, person: int, question: Question) -> Mail:
        """Return the honest message with a question."""
        return Mail(copy.name, person, question, bytes_of(question, 0 if self.setting.signed else -1), "")

    def hostile(self, rng: Random, copy: Copy, person: int) -> Mail:
        signer = 0 if self.setting.signed else -1
        if rng.random() < 0.3:
            return Mail(copy.name, person, BEYOND, bytes_of(BEYOND, signer), "POLICY_REFUSED")
        question = rng.choice(HONEST)
        if self.setting.signed:
            data, code = spoilt(question, rng.choice(HONEST), rng.choice(FORGERIES)), "COLLECTOR_REFUSED"
            if data == bytes_of(question, 0):  # the other question's terms are its own
                code = ""
        else:
            data, code = bytes_of(question)[:-3], "UNKNOWN_QUERY"
        return Mail(copy.name, person, question, data, code)


def _outcome(answer: Report | Refusal) -> Outcome:
    if isinstance(answer, Report):
        return Outcome("replay" if answer.replayed else "report", answer.data)
    return Outcome(answer.name)
