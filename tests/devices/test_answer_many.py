"""Many devices answer a message together as they answer one by one: reports, refusals and ledgers, byte for byte.

Covers keyed_data.
"""

from __future__ import annotations

import os
import sqlite3
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict

from ldpsim.devices import answer_many, client_app, wire
from ldpsim.devices.client_app import open_state
from ldpsim.devices.collector import CollectorKey, generate
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal, Report
from ldpsim.devices.enrolment import state as enrolment
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.ledger import rows
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.rows import Answer, Head
from ldpsim.devices.mechanisms import GRR, Degree, GroupDegrees, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import Cap, Policy, policy_for
from ldpsim.devices.query import Ask, Query
from tests.devices.mechanisms.test_every_mechanism import EXAMPLES, C, D, N, attribute
from tests.signing import signed

ALL = range(12)
Tamper = Callable[[State], None]
Got = list[Report | Refusal]


@pytest.fixture(autouse=True)
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row holds the time, and its seal covers it: the clock stands still."""
    monkeypatch.setattr(rows, "time", types.SimpleNamespace(time=lambda: 1.5))


class Twins:
    """Two folders of the same devices: the first ones are asked one by one, the second ones together."""

    def __init__(self, place: Path, make: Callable[[Path], State]) -> None:
        self.folders = [place / "alone", place / "together"]
        for folder in self.folders:
            make(folder).close()

    @property
    def states(self) -> list[State]:
        return [open_state(str(folder), os.getpid()) for folder in self.folders]

    def each(self, change: Tamper) -> None:
        """Do the same to both folders."""
        for state in self.states:
            change(state)

    def reopen(self) -> None:
        client_app.release_states()

    def ask(self, question: Query | bytes, devices: Sequence[int] = ALL) -> Got:
        """Ask both, compare answers and ledgers, and return the answers."""
        data = question.to_bytes() if isinstance(question, Query) else question
        content = RecordDict({"query": ConfigRecord({"query": data})})
        alone = Fleet(self.folders[0]).answer([Message(content, d + 1, wire.QUERY_TYPE) for d in devices])
        singles: dict[int, Any] = {reply.metadata.src_node_id - 1: wire.read_reply(reply) for reply in alone}
        expected = [one if isinstance(one := singles[d], Refusal) else one[1] for d in devices]
        many = Message(wire.batch_content(content, np.array(devices)), devices[0] + 1, wire.REPORTS_TYPE)
        (answered,) = Fleet(self.folders[1]).answer([many])
        got = wire.read_batch_reply(answered, len(devices))
        assert got == expected
        first, second = (contents(state) for state in self.states)
        assert first == second
        return got


def contents(state: State) -> list[list[tuple[str, Answer, bytes]]] | str:
    """Every row of every device with its seal; the reason where the ledger cannot be read."""
    try:
        return [
            [(type(row).__name__, row, row.seal) for row in state.ledger(device).answers(device)]
            for device in range(len(state))
        ]
    except Exception as error:
        return repr(error)


def reported(got: Got) -> list[bool]:
    return [isinstance(answer, Report) and not answer.replayed for answer in got]


def replayed(got: Got) -> list[bool]:
    return [isinstance(answer, Report) and answer.replayed for answer in got]


@pytest.fixture
def twins(tmp_path: Path, population: Population, policy_of: Callable[..., Policy]) -> Callable[..., Twins]:
    def make(*, residents: Sequence[int] | None = None, counted: bool = False, **changes: object) -> Twins:
        def one(folder: Path) -> State:
            counters = folder.with_name(f"{folder.name}-counters") if counted else None
            return enrol(folder, population, policy_of(population, **changes), seed=7, residents=residents,
                         counters=counters)  # fmt: skip

        return Twins(tmp_path, one)

    return make


@pytest.mark.parametrize("letters", ["a", "f", "l", "af", "afl"])
def test_the_row_of_a_fresh_answer_and_of_its_repeats(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], letters: str
) -> None:
    pair = twins()
    assert all(reported(pair.ask(ask_for(attributes=letters), [0, 3, 4, 11])))
    assert reported(pair.ask(ask_for(attributes=letters))) == [d not in (0, 3, 4, 11) for d in ALL]
    assert all(replayed(pair.ask(ask_for(attributes=letters))))
    for other in (ask_for("second", attributes=letters), ask_for(attributes=letters, eps=2.0)):
        assert pair.ask(other) == [Refusal.REPORT_COLLECTED] * 12
    rest = "".join(letter for letter in "afl" if letter not in letters)
    if rest:
        assert pair.ask(ask_for()) == [Refusal.REPORT_COLLECTED] * 12  # joins a released attribute with a new one
        assert all(reported(pair.ask(ask_for(attributes=rest), range(0, 12, 2))))
        assert reported(pair.ask(ask_for(attributes=rest))) == [bool(d % 2) for d in ALL]
    else:
        assert all(replayed(pair.ask(ask_for(attributes="fl"))))  # a subset: the stored bytes


def test_repeats_are_read_together_and_a_device_with_an_edited_row_or_two_answers_alone(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = twins()
    pair.ask(ask_for(attributes="f"))
    pair.ask(ask_for(attributes="l"), [5])
    for change in ("time = 2.5 WHERE device = 2", "number = 1 WHERE device = 3"):
        pair.each(lambda state, change=change: state.ledger()._db.execute(f"UPDATE query_answer SET {change}"))  # type: ignore[misc]
    alone: list[int] = []
    answer = answer_many._alone
    monkeypatch.setattr(answer_many, "_alone", lambda *given: alone.append(given[1]) or answer(*given))
    got = pair.ask(ask_for(attributes="f"))
    assert [d for d in ALL if got[d] is Refusal.LEDGER_DAMAGED] == [2, 3]
    assert replayed(got) == [d not in (2, 3) for d in ALL] and alone == [2, 3, 5]


def test_the_row_of_a_policy_that_replays(twins: Callable[..., Twins], ask_for: Callable[..., Query]) -> None:
    pair = twins(on_requery="replay")
    first = pair.ask(ask_for(), range(6))
    again = pair.ask(ask_for("second"))
    assert replayed(again) == [d < 6 for d in ALL] and reported(again) == [d >= 6 for d in ALL]
    assert [a.data for a in again[:6]] == [a.data for a in first]  # type: ignore[union-attr]


def test_the_rows_of_questions_that_no_device_answers(
    twins: Callable[..., Twins], ask_for: Callable[..., Query]
) -> None:
    pair = twins()
    pair.ask(ask_for(), [2, 5])
    whole = ask_for().to_bytes()
    for data in (b"?", b"\xff", whole[:-1], whole + b" ", whole.replace(b'"randomized_response"', b'"unheard_of"'),
                 whole.replace(b'"version":1', b'"version":9'),
                 whole.replace(b'{"collection"', b'{"a":1,"collection"')):  # fmt: skip
        assert data != whole and pair.ask(data) == [Refusal.UNKNOWN_QUERY] * 12
    assert pair.ask(ask_for(n=5)) == [Refusal.POLICY_REFUSED] * 12
    pair.each(lambda state: state.ledger()._db.execute("UPDATE query_answer SET seal = x'00'"))
    for data in (b"", ask_for(n=5).to_bytes(), whole):
        got = pair.ask(data)
        assert [got[d] for d in (2, 5)] == [Refusal.LEDGER_DAMAGED] * 2
        assert Refusal.LEDGER_DAMAGED not in [got[d] for d in ALL if d not in (2, 5)]


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "federated"}, {"mode": "owner"}, {"user_cap": 0.5}, {"mechanisms": frozenset({"one_bit"})},
        {"caps": {"adjacency": Cap(0.5, 1e6, 1e6), "features": Cap(9, 9, 9), "label": Cap(9, 9, 9)}},
        {"reporting": "one-end"}, {"questions": frozenset({"00" * 32})}, {"collector": "ab" * 32},
    ],
    ids=str,
)  # fmt: skip
def test_the_rows_of_refusals(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], changes: dict[str, Any]
) -> None:
    (got,) = set(twins(**changes).ask(ask_for()))
    assert got in (Refusal.MODE_REFUSED, Refusal.POLICY_REFUSED, Refusal.COLLECTOR_REFUSED)


def test_a_cap_of_the_person_that_some_have_reached(twins: Callable[..., Twins], ask_for: Callable[..., Query]) -> None:
    pair = twins(user_cap=ask_for(attributes="f").total() + 0.5)
    assert all(reported(pair.ask(ask_for(attributes="f"), range(5))))
    got = pair.ask(ask_for("second", attributes="l"))
    assert got == [Refusal.POLICY_REFUSED] * 5 + got[5:] and all(reported(got[5:]))


def test_one_end_rows_are_judged_device_by_device(twins: Callable[..., Twins], population: Population) -> None:
    mechanism = RandomizedResponse.from_epsilon(1.0, n=len(population), reporting="one-end")
    pair = twins(reporting="one-end", caps={"adjacency": Cap(1.0, 5.0, 5.0)})
    got = pair.ask(Query("first", ((Ask("adjacency", (mechanism,)),),)))
    assert reported(got) == [d <= 5 for d in ALL] and got[6:] == [Refusal.POLICY_REFUSED] * 6


@pytest.mark.parametrize("signer", ["right", "wrong", "nobody"])
def test_a_pinned_collector(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], tmp_path: Path, signer: str
) -> None:
    for name in ("right", "wrong"):
        generate(tmp_path / name)
    keys = {name: CollectorKey.load(tmp_path / name) for name in ("right", "wrong")}
    pair = twins(collector=keys["right"].public)
    got = pair.ask(signed(keys[signer], ask_for(), 12) if signer in keys else ask_for().to_bytes())
    assert all(reported(got)) if signer == "right" else got == [Refusal.COLLECTOR_REFUSED] * 12


def test_terms_that_ask_some_people(twins: Callable[..., Twins], ask_for: Callable[..., Query], tmp_path: Path) -> None:
    generate(tmp_path / "key")
    key = CollectorKey.load(tmp_path / "key")
    question = signed(key, ask_for(), 12, [0, 3, 4])
    pair = twins(collector=key.public)
    got = pair.ask(question)
    assert [d for d in ALL if isinstance(got[d], Report)] == [0, 3, 4]
    assert {got[d] for d in ALL if d not in (0, 3, 4)} == {Refusal.COLLECTOR_REFUSED}
    assert [answer.replayed for answer in pair.ask(question) if isinstance(answer, Report)] == [True] * 3


def test_changed_data(twins: Callable[..., Twins], ask_for: Callable[..., Query], people: Callable[..., Any]) -> None:
    """Those who answered give the stored bytes; the others report about the data that they have now."""
    pair = twins()
    pair.ask(ask_for(), range(6))
    before = [state.population.digest for state in pair.states]
    pair.reopen()
    for folder in pair.folders:
        people(seed=9).save(folder / "population")
    assert [state.population.digest for state in pair.states] != before
    assert replayed(pair.ask(ask_for())) == [d < 6 for d in ALL]


def test_a_ledger_that_is_damaged_or_gone(twins: Callable[..., Twins], ask_for: Callable[..., Query]) -> None:
    pair = twins()
    pair.ask(ask_for(), [1])
    pair.reopen()
    good = (pair.folders[0] / "ledger.sqlite").read_bytes()
    for bad in (b"", good[:4096], b"x" * len(good)):
        for folder in pair.folders:
            (folder / "ledger.sqlite").write_bytes(bad)
        assert pair.ask(ask_for()) == [Refusal.LEDGER_DAMAGED] * 12
        pair.reopen()
    for folder in pair.folders:
        (folder / "ledger.sqlite").unlink()
    assert pair.ask(ask_for()) == [Refusal.LEDGER_DAMAGED] * 12


def test_a_ledger_of_a_later_epoch(twins: Callable[..., Twins], ask_for: Callable[..., Query]) -> None:
    pair = twins()
    pair.ask(ask_for(), [1])
    for folder in pair.folders:
        other = Ledger(folder / "ledger.sqlite")
        other.raise_epoch(1)
        other.close()
    assert pair.ask(ask_for()) == [Refusal.LEDGER_DAMAGED] * 12


@pytest.mark.parametrize("what", ["COMMIT", "BEGIN"])
def test_a_batch_that_cannot_be_committed(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], what: str
) -> None:
    def authorize(action: int, first: str | None, *_: object) -> int:
        refused = action == sqlite3.SQLITE_TRANSACTION and first == what
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    pair = twins()
    pair.ask(ask_for(), [4])
    pair.each(lambda state: state.ledger()._db.set_authorizer(authorize))
    assert pair.ask(ask_for()) == [Refusal.LEDGER_DAMAGED] * 12
    pair.each(lambda state: state.ledger()._db.set_authorizer(None))
    assert reported(pair.ask(ask_for())) == [d != 4 for d in ALL]


@pytest.mark.parametrize("computed", ["together", "one by one"])
def test_a_trigger_that_undoes_what_is_entered(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], computed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = twins()
    if computed == "one by one":  # as where a mechanism fails
        monkeypatch.setattr(answer_many, "_first_answers", lambda *_: {})
    for change in ("UPDATE query_answer SET collection = 'x' WHERE device = NEW.device", "DELETE FROM query_answer"):
        pair.each(lambda state, change=change: state.ledger()._db.execute(  # type: ignore[misc]
            f"CREATE TEMP TRIGGER t AFTER INSERT ON query_answer WHEN NEW.device = 7 BEGIN {change}; END"))  # fmt: skip
        assert pair.ask(ask_for()) == [Refusal.LEDGER_DAMAGED] * 12
        pair.each(lambda state: state.ledger()._db.execute("DROP TRIGGER t"))
    assert all(reported(pair.ask(ask_for())))


def test_counters(twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "urandom", lambda size: bytes(range(size)))  # both folders get the same nonces
        pair = twins(counted=True)
    assert all(reported(pair.ask(ask_for(attributes="f"), range(6))))

    def ahead(state: State) -> None:
        counter = state.counter(0)
        assert counter is not None
        held = counter.entries([2, 9])
        counter.advance({device: (entry.head, Head(7, b"elsewhere" * 3)) for device, entry in held.items()})

    pair.each(ahead)
    again = pair.ask(ask_for(attributes="f"), range(6))
    assert again[2] is Refusal.COUNTER_MISMATCH and replayed(again) == [d != 2 for d in range(6)]
    got = pair.ask(ask_for(attributes="l"))
    assert [d for d in ALL if got[d] is Refusal.COUNTER_MISMATCH] == [2, 9]
    assert reported(got) == [d not in (2, 9) for d in ALL]
    for state in pair.states:
        counter = state.counter(0)
        assert counter is not None
        heads = {device: entry.head for device, entry in counter.entries(ALL).items()}
        assert all(heads[d] == state.ledger().head(d) for d in ALL if d not in (2, 9))


def test_a_copy_that_was_quicker(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counter is advanced by somebody else between the start of the transaction and its commit."""
    with monkeypatch.context() as patched:
        patched.setattr(os, "urandom", lambda size: bytes(range(size)))
        pair = twins(counted=True)
    following, to = rows.QueryAnswer.following, rows.FirstAnswers.to

    def overtake() -> None:
        state = next(state for state in pair.states if state.ledger().in_transaction)
        counter = state.counter(0)
        assert counter is not None
        counter.advance({5: (Head(), Head(1, b"another copy's"))})

    def overtaken(head: Head, device: int, *given: Any) -> Any:
        if device == 5:
            overtake()
        return following(head, device, *given)

    def all_overtaken(query: Query, devices: Sequence[int], *given: Any) -> Any:
        overtake()
        return to(query, devices, *given)

    monkeypatch.setattr(rows.QueryAnswer, "following", overtaken)
    monkeypatch.setattr(rows.FirstAnswers, "to", all_overtaken)
    got = pair.ask(ask_for())
    assert got[5] is Refusal.COUNTER_MISMATCH and reported(got) == [d != 5 for d in ALL]


def test_a_folder_where_only_some_live(twins: Callable[..., Twins], ask_for: Callable[..., Query]) -> None:
    pair = twins(residents=[1, 4, 5])
    got = pair.ask(ask_for())
    assert reported(got) == [d in (1, 4, 5) for d in ALL]
    assert {got[d] for d in ALL if d not in (1, 4, 5)} == {Refusal.LEDGER_DAMAGED}
    assert pair.ask(ask_for(), [11, 12, 500]) == [Refusal.LEDGER_DAMAGED] * 3
    assert pair.ask(ask_for(), [700]) == [Refusal.LEDGER_DAMAGED]


def test_stages_in_order_and_out_of_order(tmp_path: Path, people: Callable[..., Population]) -> None:
    population = people()
    n = len(population)
    plan = (
        (Ask("adjacency", (Degree.from_epsilon(0.5, n=n),)), Ask("label", (GRR.from_epsilon(1.0, categories=C),))),
        (Ask("adjacency", (GroupDegrees.from_epsilon(1.0, n=n, groups=3),)),),
    )
    staged = Query("staged", plan)
    rules = policy_for([staged], population.facts)
    pair = Twins(tmp_path, lambda folder: enrol(folder, population, rules, seed=7))
    grouping = tuple(i % 3 for i in range(n))
    second = staged.at_stage(1, grouping)
    assert pair.ask(second) == [Refusal.REPORT_COLLECTED] * n  # out of order
    assert all(reported(pair.ask(staged, range(8))))
    assert pair.ask(staged.at_stage(1)) == [Refusal.UNKNOWN_QUERY] * n  # without its grouping
    assert reported(pair.ask(second)) == [d < 8 for d in range(n)]
    assert replayed(pair.ask(second)) == [d < 8 for d in range(n)]
    other = staged.at_stage(1, tuple(reversed(grouping)))
    assert pair.ask(other) == [Refusal.REPORT_COLLECTED] * n
    assert replayed(pair.ask(staged)) == [d < 8 for d in range(n)]


def test_batches_of_a_vote(tmp_path: Path, people: Callable[..., Population]) -> None:
    """Separate questions of one collection, about one attribute after another and to other people."""
    population = people(N, D)
    votes = [m for m in EXAMPLES if m.name in ("neighbourhood_vote", "own_features_vote")]
    label = Query("vote", ((Ask("label", (GRR.from_epsilon(1.0, categories=C),)),),))
    later = [Query("vote", ((Ask(attribute(m), (m,)),),)) for m in votes]
    pair = Twins(tmp_path, lambda folder: enrol(folder, population, policy_for([label, *later], population.facts),
                                                seed=7))  # fmt: skip
    assert all(reported(pair.ask(label, [0, 2, 4])))
    assert all(reported(pair.ask(later[1], [0, 1, 3])))  # reads features too
    assert reported(pair.ask(later[0], range(N))) == [d not in (0, 1, 3) for d in range(N)]
    features = Query("vote", ((Ask("features", (OneBit.from_epsilon(1.0, d=D),)),),))
    assert pair.ask(features, range(N)) == [Refusal.POLICY_REFUSED] * N
    assert all(replayed(pair.ask(later[1], [0, 1, 3])))


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda m: m.name)
def test_every_mechanism(tmp_path: Path, people: Callable[..., Population], mechanism: Mechanism) -> None:
    population = people(N, D)
    asked = (Ask(attribute(mechanism), (mechanism,)),)
    first = (
        asked
        if not isinstance(mechanism, GroupDegrees) or mechanism.takes(None)
        else (Ask("adjacency", (Degree.from_epsilon(1.0, n=N),)),)
    )
    query = Query("every", (first,) if first is asked else (first, asked))
    rules = policy_for([query], population.facts)
    pair = Twins(tmp_path, lambda folder: enrol(folder, population, rules, seed=7))
    assert all(reported(pair.ask(query, [0, 3, 8])))
    assert reported(pair.ask(query, range(N))) == [d not in (0, 3, 8) for d in range(N)]
    if first is not asked:
        assert all(reported(pair.ask(query.at_stage(1, tuple(i % 3 for i in range(N))), range(N))))


def test_two_mechanisms_about_one_attribute(tmp_path: Path, people: Callable[..., Population]) -> None:
    population = people()
    n = len(population)
    both = (RandomizedResponse.from_epsilon(0.1, n=n), Degree.from_epsilon(0.3, n=n))
    query = Query("two", ((Ask("adjacency", both), Ask("label", (GRR.from_epsilon(1.0, categories=C),))),))
    rules = policy_for([query], population.facts)
    assert all(reported(Twins(tmp_path, lambda folder: enrol(folder, population, rules, seed=7)).ask(query)))


def test_a_mechanism_that_fails_for_some(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism of another package may raise: then each device answers, or refuses, by itself."""
    respond = OneBit.respond

    def failing(self: OneBit, *given: Any, devices: Sequence[int], **named: Any) -> list[bytes]:
        if any(device % 3 == 0 for device in devices):
            raise RuntimeError("private")
        return respond(self, *given, devices=devices, **named)

    monkeypatch.setattr(OneBit, "respond", failing)
    got = twins().ask(ask_for())
    assert [answer is Refusal.UNKNOWN_QUERY for answer in got] == [d % 3 == 0 for d in ALL]


def test_devices_of_one_shard_in_rising_order_alone_are_a_batch(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (answer_many, client_app, enrolment):
        monkeypatch.setattr(module, "SHARD", 8)
    folder = twins().folders[0]
    content = wire.query_content(ask_for())
    for wrong in ([], [1, 1], [2, 1], [7, 8], [-1, 0], [8, 9]):
        message = Message(wire.batch_content(content, np.array(wrong, np.int64)), 1, wire.REPORTS_TYPE)
        (got,) = Fleet(folder).answer([message])
        assert wire.read_reply(got) is Refusal.UNKNOWN_QUERY
    assert sum(map(len, contents(State(folder)))) == 0


def test_a_node_that_is_one_device_does_not_know_the_question(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = twins().folders[0]
    message = Message(wire.batch_content(wire.query_content(ask_for()), np.arange(12)), 4, wire.REPORTS_TYPE)
    monkeypatch.setenv(client_app.STATE, str(folder))
    run = {client_app.HOSTS_SHARD: True}  # a run's configuration is the curator's
    for node in ({"partition-id": 3, "state-dir": str(folder)}, {"partition-id": 3}):
        context = Context(1, 4, node, RecordDict(), run)  # type: ignore[arg-type]
        assert wire.read_reply(client_app.app(message, context)) is Refusal.UNKNOWN_QUERY
    assert sum(map(len, contents(State(folder)))) == 0


def test_the_reply_is_made_after_the_commit(
    twins: Callable[..., Twins], ask_for: Callable[..., Query], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = twins()
    witness = Ledger(pair.folders[1] / "ledger.sqlite")
    built: list[int] = []
    make = client_app.batch_reply

    def seen(*given: Any) -> Message:
        built.append(sum(len(witness.answers(device)) for device in ALL))
        return make(*given)

    monkeypatch.setattr(client_app, "batch_reply", seen)
    assert all(reported(pair.ask(ask_for()))) and built == [12]
