"""Properties of Flower 1.41 and 1.42 that its documentation does not promise; pyproject.toml admits these two.

A new version of Flower that changes any of this fails here, by name, and not somewhere
in a simulation.
"""

from __future__ import annotations

import logging
import re
import tomllib
from pathlib import Path

import pytest
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from flwr.supercore.task_identity import TaskIdentity
from packaging.requirements import Requirement

from ldpsim.devices.wire import QUERY_TYPE
from ldpsim.strategies.engines.flower_private import (
    LOGGER,
    OneLine,
    assume_identity,
    errors_in_one_line,
    set_message_id,
)

ROOT = Path(__file__).resolve().parents[3]
READ = ("1.41", "1.42")  # versions whose source was read, and under which the tests of this folder passed


def test_the_range_admits_the_versions_that_were_read_and_no_other() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (admitted,) = (each.specifier for each in map(Requirement, listed) if each.name == "flwr")
    assert [minor for minor in range(30, 60) if admitted.contains(f"1.{minor}.0")] == [41, 42]
    assert tuple(f"1.{minor}" for minor in (41, 42)) == READ and not admitted.contains("2.0.0")


def test_one_module_has_the_names_that_are_not_public() -> None:
    """``flwr.app``, ``flwr.clientapp`` and ``flwr.serverapp`` are public."""
    private = re.compile(r"from flwr\.(?!app\b|clientapp\b|serverapp\b)\w+|import flwr\.|\"_message_id\"|\._run_id")
    found = {
        str(path.relative_to(ROOT))
        for package in ("devices", "curator", "strategies", "cli")
        for path in sorted((ROOT / package).rglob("*.py"))
        if private.search(path.read_text())
    }
    assert found == {"strategies/engines/flower_private.py"}


def test_a_mistake_of_the_person_is_one_line_of_flower_s_log(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger(LOGGER)
    kept = list(logger.filters)
    errors_in_one_line(ValueError)
    errors_in_one_line(ValueError)
    try:
        assert sum(isinstance(each, OneLine) for each in logger.filters) == 1
        with caplog.at_level(logging.ERROR, logger=LOGGER):
            for error in (ValueError("too few\nnodes"), KeyError("a fault of the program")):
                try:
                    raise error
                except Exception as raised:  # as Flower's runtime does
                    logger.log(logging.ERROR, "%s raised an exception", "Simulation", exc_info=raised)
    finally:
        logger.filters[:] = kept
    mistake, fault = caplog.records
    assert mistake.getMessage() == "error: too few nodes" and mistake.exc_info is None
    assert fault.getMessage() == "Simulation raised an exception" and fault.exc_info


def test_a_message_needs_the_identity_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, None)
    with pytest.raises(RuntimeError):
        Message(RecordDict(), 1, QUERY_TYPE)
    assume_identity(run_id=7, node_id=3)
    message = Message(RecordDict(), 1, QUERY_TYPE)
    assert (message.metadata.run_id, message.metadata.src_node_id) == (7, 3)
    assume_identity(run_id=8)  # a process that has an identity keeps it
    assert TaskIdentity.run_id == 7


def test_a_message_id_can_be_set_and_a_reply_carries_it() -> None:
    message = Message(RecordDict(), 5, QUERY_TYPE)
    assert "_message_id" in message.metadata.__dict__
    set_message_id(message, "forty-two")
    assert message.metadata.message_id == "forty-two"
    answer = Message(RecordDict(), reply_to=message)
    assert answer.metadata.reply_to_message_id == "forty-two"
    assert answer.metadata.src_node_id == 5


def test_the_abstract_methods_are_the_known_ones() -> None:
    assert Grid.__abstractmethods__ == {
        "set_run", "run", "create_message", "get_node_ids", "push_messages", "pull_messages", "send_and_receive",
    }  # fmt: skip
    assert Strategy.__abstractmethods__ == {
        "configure_train", "aggregate_train", "configure_evaluate", "aggregate_evaluate", "summary",
    }  # fmt: skip
