"""Updates of lying silos, and replies that stay as they are."""

from __future__ import annotations

import numpy as np
from flwr.app import ConfigRecord, Error, Message, MessageType

from devices.data.population import Population
from devices.federated.silo import SiloTask
from devices.federated.wire import WEIGHTS, round_content, update_reply, weights_record
from devices.network import Shape
from strategies.attacks.liars.attacks import ATTACKS
from strategies.attacks.liars.plan import LyingPlan
from strategies.attacks.liars.updates import TIMES, bent, towards
from strategies.engines.flower_internals import set_message_id


def round_of(task: SiloTask, weights: np.ndarray) -> Message:
    config = ConfigRecord({"task": task.to_bytes(), "server-round": 1})
    message = Message(round_content(weights_record(weights), config), 1, MessageType.TRAIN)
    set_message_id(message, "1")
    return message


def test_a_silo_moves_the_model_towards_one_class(population: Population) -> None:
    facts = population.facts
    task = SiloTask("first", False, facts.d, 4, facts.classes, 0.5, 1, 0.0, 0.0, 1)
    start = task.shape.initial(1)
    message = round_of(task, start)
    honest = update_reply(start + np.float32(0.01), message, device=0)
    lies = LyingPlan(ATTACKS["same-direction"], "response", "inflate", "all", population, np.array([0]), np.array([4]),
                target_class=2)  # fmt: skip
    change = bent(honest, message, lies, None).content.array_records["arrays"][WEIGHTS].numpy() - start
    length = TIMES * 0.01 * np.sqrt(len(start))
    assert np.allclose(change, length * towards(task.shape, len(start), 2), atol=1e-4)


def test_refusals_stay(population: Population) -> None:
    message = round_of(SiloTask("first", False, 4, 4, 2, 0.5, 1, 0.0, 0.0, 1), Shape(4, 4, 2).initial(1))
    refusal = Message(Error(101, "UNKNOWN_QUERY"), reply_to=message)
    lies = LyingPlan(ATTACKS["same-direction"], "response", "inflate", "all", population, np.array([0]), np.array([4]))
    assert bent(refusal, message, lies, None) is refusal
