"""Edited ClientApp of a lying device.

It is a real Flower ClientApp that reads questions as the published one does. It answers as the published
device and puts a lie in the place of the reports that its attack is about. It exists for ``ldpsim poison``
alone: nothing of the published app imports it, and no enrolment can name it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from devices.client_app import device_of, open_state, state_folder
from devices.collector import query_of
from devices.device import Device, Refusal, Report, pack_parts, pack_report, unpack_report
from devices.federated.participation import answer_as_device
from devices.federated.silo import answer_as_silo
from devices.mechanisms.base import Mechanism
from devices.noise import NoiseStream, derive_key
from devices.query import Query
from devices.raw_record import read_question
from devices.training_task import AnswerKind
from devices.wire import read_query, reply
from strategies.attacks.liars.plan import LyingPlan
from strategies.attacks.liars.updates import bent
from strategies.attacks.liars.worst import Said, response


class LyingApp(ClientApp):
    """ClientApp of all lying devices of one cell.

    Args:
        plan: What they agreed on.
    """

    def __init__(self, plan: LyingPlan) -> None:
        super().__init__()
        self.plan = plan
        self.query("report")(self._report)
        self.query("handover")(self._hand_over)
        kinds: tuple[tuple[object, AnswerKind | None], ...] = (
            (self.train(), "update"), (self.evaluate(), "evaluation"), (self.query("exchange"), "exchange"),
            (self.query("receive"), None),
        )  # fmt: skip
        for register, kind in kinds:
            register(lambda message, context, kind=kind: self._train(message, context, kind))  # type: ignore[operator]

    def _report(self, message: Message, context: Context) -> Message:
        device = device_of(context)
        return self._answer(message, context, device, device.answer(read_query(message)))

    def _hand_over(self, message: Message, context: Context) -> Message:
        device = device_of(context)
        return self._answer(message, context, device, device.hand_over(read_query(message)))

    def _answer(self, message: Message, context: Context, device: Device, honest: Report | Refusal) -> Message:
        if isinstance(honest, Refusal):
            return reply(honest, message, device=device.index)
        query = read_question(query_of(read_query(message)))
        data = self.lie(query, honest.data, device.index, secret_of(Path(state_folder(context)), device.index))
        return reply(Report(data, honest.replayed), message, device=device.index)

    def lie(self, query: Query, honest: bytes, device: int, secret: bytes) -> bytes:
        """Return the report of a liar; what the attack is not about stays as it is in the honest report."""
        parts = unpack_report(honest, query)
        told = []
        for ask in query.asks:
            key = derive_key(secret, b"input lie", query.question(ask.attribute))
            told.append(pack_parts(
                self._part(mechanism, parts[ask.attribute][place], device, query, NoiseStream(key, place))
                if self.plan.attack.lies_about(mechanism) else parts[ask.attribute][place]
                for place, mechanism in enumerate(ask.mechanisms)
            ))  # fmt: skip
        return pack_report(tuple(told))

    def _part(self, mechanism: Mechanism, honest: bytes, device: int, query: Query, noise: NoiseStream) -> bytes:
        plan, grouping = self.plan, query.grouping
        false = plan.record(device, mechanism, grouping)
        if plan.lie == "input" or mechanism.name == "handed_over":  # a raw record has no noise to leave out
            return mechanism.respond(false, noise, device=device, grouping=grouping)
        true = None if plan.attack.joins else plan.population.record(device)
        adds = plan.attack.adds and plan.goal != "hide"
        return response(mechanism, Said(device, false, true, grouping, honest, adds))

    def _train(self, message: Message, context: Context, kind: AnswerKind | None) -> Message:
        if context.node_config.get("silo-dir"):
            answer = answer_as_silo(Path(str(context.node_config["silo-dir"])), message, kind)
            return bent(answer, message, self.plan, None) if kind == "update" else answer
        state = open_state(state_folder(context), os.getpid())
        index = int(context.node_config["partition-id"])
        false = self.plan.record(index)
        secret = secret_of(state.folder, index)
        device = Device(index, false, secret, state.policy, state.ledger(index))
        answer = answer_as_device(state.received, device, message, kind)
        lies = kind == "update" and self.plan.lie == "response"
        return bent(answer, message, self.plan, false) if lies else answer


def answer_all(app: LyingApp, folder: Path, messages: list[Message]) -> list[Message]:
    """Return the replies of lying devices; those of one ledger share a commit, as a fleet's do."""
    if (folder / "silo-0").is_dir():
        return [app(message, _context(message, {"silo-dir": str(folder / f"silo-{_index(message)}")}))
                for message in messages]  # fmt: skip
    state = open_state(str(folder), os.getpid())
    shards: dict[int, list[Message]] = {}
    for message in messages:
        shards.setdefault(_index(message) // state.shard, []).append(message)
    replies = []
    for shard, group in shards.items():
        with state.ledger(shard * state.shard).transaction({_index(message) for message in group}):
            replies += [app(message, _context(message, {"state-dir": str(folder)})) for message in group]
    return replies


def _context(message: Message, config: dict[str, str]) -> Context:
    node = message.metadata.dst_node_id
    return Context(message.metadata.run_id, node, {**config, "partition-id": node - 1}, RecordDict(), {})


def _index(message: Message) -> int:
    return message.metadata.dst_node_id - 1


@lru_cache(maxsize=2)
def _secrets(folder: Path) -> np.ndarray:
    return np.fromfile(folder / "secrets.bin", np.uint8).reshape(-1, 32)


def secret_of(folder: Path, device: int) -> bytes:
    """Return the secret of a device, which its owner can read."""
    found: bytes = _secrets(folder)[device].tobytes()
    return found
