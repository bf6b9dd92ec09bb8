"""Updates of lying parties of a federated training.

A response has the largest norm that the server takes. Where the server clips, this is the clipping norm.
Where devices add noise, it is the norm that the noise alone has: nobody can tell it from an honest one by its
length. Where nothing bounds an update, it is :data:`TIMES` as long as the party's own honest one.
"""

from __future__ import annotations

import numpy as np
from flwr.app import Message

from devices.array_types import FloatArray
from devices.data.population import Record
from devices.federated.batched_steps import Stack
from devices.federated.local_steps import Inputs, class_of, scaled_record
from devices.federated.wire import WEIGHTS, read_round, weights_record
from devices.mechanisms.analytic_gaussian import UNIT
from devices.network import Shape
from devices.training_task import STEPS, Task
from strategies.attacks.liars.plan import LyingPlan

TIMES = 10.0


def bent(answer: Message, message: Message, plan: LyingPlan, false: Record | None) -> Message:
    """Return an update of the same form that moves the model as far as it can.

    Args:
        answer: The party's reply for the record that it claims; a refusal stays.
        message: The round.
        plan: The lies.
        false: The claimed record of a device; None for a silo.
    """
    if not answer.has_content() or "arrays" not in answer.content:
        return answer
    sent = answer.content.array_records["arrays"][WEIGHTS].numpy().astype(np.float64)
    told = message.content.array_records["arrays"][WEIGHTS].numpy()
    change: FloatArray = sent - told
    norm = plan.norm
    shape = None
    if false is not None:
        asked = read_round(message)
        shape = asked.task.shape
        if asked.task.noise is not None:
            norm = asked.task.noise.deviation / UNIT * asked.task.noise.clip / STEPS * float(np.sqrt(len(told)))
            change = _without_noise(false, asked.task, told, asked.mu) - told
    if norm is None:
        norm = TIMES * float(np.linalg.norm(change))
    way = change
    if plan.attack.name == "same-direction":
        way = towards(shape or _shape_of(message), len(told), plan.target_class)
    length = float(np.linalg.norm(way))
    if length > 0:
        answer.content["arrays"] = weights_record((told + norm / length * way).astype(told.dtype))
    return answer


def towards(shape: Shape, size: int, label: int) -> FloatArray:
    """float64 (size,): the direction that raises the score of one class for everybody, its last bias."""
    way = np.zeros(size)
    shape.parts(way)[3][label % shape.classes] = 1.0
    return way


def _shape_of(message: Message) -> Shape:
    from devices.federated.silo import SiloTask

    return SiloTask.from_bytes(message.content.config_records["config"]["task"]).shape


def _without_noise(record: Record, task: Task, weights: FloatArray, mu: float) -> FloatArray:
    """Return the weights after the local steps on a record, before any noise."""
    columns, values = scaled_record(record, task, weights.dtype)
    nothing = np.zeros(task.hidden, weights.dtype)
    inputs = Inputs(np.array([0, len(columns)]), columns, values, np.ones(1, weights.dtype), nothing, nothing,
                    class_of(record, task))  # fmt: skip
    (trained,) = Stack([inputs], task).trained(weights, mu=mu)
    return trained.copy()
