"""Parameters that trainings under differential privacy share: delta, and that no evaluation chooses the model."""

from __future__ import annotations

from ldpsim.curator.methods.federated.federated import Federated
from ldpsim.curator.methods.parameters import between
from ldpsim.curator.setting_error import SettingError

DELTA = between(0, 1)  # 0: the rule


def check_evaluation(method: Federated) -> None:
    """Refuse evaluations (ValueError): the replies choose the model, and no noise is on them."""
    if method.evaluate_every:
        raise SettingError(f"evaluate_every={method.evaluate_every}", "an evaluation reveals a device's label")
