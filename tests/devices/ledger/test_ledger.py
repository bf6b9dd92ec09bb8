"""The ledger: rows, seals, decisions, transactions."""

from __future__ import annotations

import hmac
import struct
import time
from dataclasses import replace

import pytest

from ldpsim.devices.ledger import rows
from ldpsim.devices.ledger.chain import seals, verify_seals
from ldpsim.devices.ledger.decisions import AlreadyCollected, Decision, NewRelease, Replay, decide
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.rows import Answer, Head, LedgerDamaged, head_of, reports_of
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query
from tests.devices.conftest import ask_for
from tests.devices.ledger.entries import (
    KEY,
    chain_of,
    harm,
    readable,
    release,
    report_after,
    train,
    training_after,
    training_answer,
)


def test_a_row_holds_what_was_released(ledger: Ledger) -> None:
    query, before = ask_for(), time.time()
    release(ledger, query)
    (row,) = ledger.answers(3)
    assert (*row[:4], row.stage, row.grouping) == (3, 0, "report", "first", 0, b"")
    assert [(p.attribute, p.fingerprint, p.report, p.data_digest, p.loss) for p in row.parts] == [
        (name, query.fingerprint(name), f"{name}0".encode(), b"d" * 32, Loss(1.0, most))
        for name, most in (("adjacency", 11.0), ("features", 10.0), ("label", 1.0))
    ]
    assert before <= row.time <= time.time() and ledger.answers() == [row] and ledger.answers(4) == []
    (ask,) = ask_for(attributes="a").asks
    one_end = Query("one", ((replace(ask, mechanisms=(replace(ask.mechanisms[0], reporting="one-end"),)),),))
    for device in (0, 1, 11):
        release(ledger, one_end, device)
        assert ledger.answers(device)[0].parts[0].loss == Loss(min(device, 1), device)


def test_chains_are_read_together_and_judged_one_by_one(ledger: Ledger) -> None:
    """A damaged device does not stop the others, and a key is its own device's."""
    keys = {device: bytes([device]) * 32 for device in range(2, 9)}
    for device in (2, 4, 5, 7):
        release(ledger, ask_for(), device, keys[device])
    train(ledger, 5, keys[5])
    harm(ledger, "UPDATE answer SET collection = 'x' WHERE device = 4")
    found = ledger.chains(keys)
    assert isinstance(found[4], LedgerDamaged) and list(found) == list(keys)
    assert {device: len(rows) for device, rows in found.items() if device != 4} == {2: 1, 3: 0, 5: 2, 6: 0, 7: 1, 8: 0}
    assert isinstance(ledger.chains({2: keys[7]})[2], LedgerDamaged)
    assert [*ledger.chains({2: keys[2], 7: keys[7]})] == [2, 7]
    # The chain that a counter reads is checked too: rows without a right seal prove nothing.
    assert ledger._chain(2, keys[2]) == ledger.answers(2) and list(ledger._chain(3, KEY)) == []
    with pytest.raises(LedgerDamaged, match="no chain"):
        ledger._chain(2, KEY)


def test_a_transaction_is_all_or_nothing(ledger: Ledger) -> None:
    for error in (RuntimeError, KeyboardInterrupt, GeneratorExit, SystemExit):
        with pytest.raises(error), ledger.transaction():
            ledger.enter([report_after([], ask_for())], [b""], {3: KEY})
            assert len(ledger.answers(3)) == 1 and ledger.in_transaction
            raise error
        assert ledger.answers(3) == [] and not ledger.in_transaction and not ledger._db.in_transaction
    with pytest.raises(RuntimeError, match="already"), ledger.transaction(), ledger.transaction():
        pytest.fail("a transaction began inside another")
    release(ledger, ask_for())
    assert len(ledger.answers(3)) == 1


def test_a_checked_training_is_checked_again_when_somebody_else_wrote(ledger: Ledger) -> None:
    train(ledger)
    with pytest.raises(RuntimeError), ledger.transaction():
        rows = chain_of(ledger)
        ledger.enter([rows[0]._replace(number=1)], [rows[0].seal], {3: KEY})
        raise RuntimeError  # what was entered is given up, and not remembered
    train(ledger)
    train(Ledger(ledger.path))
    train(ledger)
    assert len(chain_of(ledger)) == 4
    harm(ledger, "UPDATE answer SET collection = 'x' WHERE number = 1")
    with pytest.raises(LedgerDamaged):
        train(ledger)


def test_rows_that_exist_are_never_replaced(ledger: Ledger) -> None:
    release(ledger, ask_for())
    before = ledger.answers(3)
    with pytest.raises(LedgerDamaged), ledger.transaction():
        ledger.enter([report_after([], ask_for("other"))], [b""], {3: KEY})
    assert ledger.answers(3) == before


def test_every_bit_of_a_row_is_under_the_seal(ledger: Ledger) -> None:
    release(ledger, ask_for(attributes="a"))
    for column in ("kind", "collection", "body", "seal"):
        (value,) = ledger._db.execute(f"SELECT {column} FROM answer").fetchone()
        data = value.encode() if isinstance(value, str) else value
        for bit in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            kind = "TEXT" if isinstance(value, str) else "BLOB"
            ledger._db.execute(f"UPDATE answer SET {column} = CAST(? AS {kind})", (bytes(flipped),))
            assert not readable(ledger), (column, bit)
        ledger._db.execute(f"UPDATE answer SET {column} = ?", (value,))
    assert readable(ledger) and not readable(ledger, key=KEY[::-1][:-1] + b"x")


KEYS = {3: KEY, 4: KEY}


def trained(scope: tuple[str, ...], spent: Loss = Loss(1.0, 2.0, 0.25)) -> Answer:  # noqa: B008
    return training_answer(
        3, Head(1, b"s"), spent, collection="c", kind="update", scope=scope, fingerprint=b"f",
        loss=Loss(0.5, 1.0, 0.5), data_digest=b"d", size=9,
    )  # fmt: skip


def test_the_bytes_of_a_row_and_its_seal_never_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that hold them are read for ever; ``test_ledger_damage.py`` has a whole file."""
    monkeypatch.setattr(rows.time, "time", lambda: 1.5)
    query = ask_for(attributes="l")
    object.__setattr__(query.asks[0].mechanisms[0], "sampler", 1)  # a question of before noise was made by SHAKE
    (report,) = reports_of(query, {3: Head()}, {"label": [b"\x02\x00"]}, {"label": [b"d" * 32]})
    body = struct.pack("<dIB", 1.5, 0, 0) + struct.pack("<3d4I", 1.0, 1.0, 0.0, 5, 32, 2, 32)
    body += b"label" + query.fingerprint("label") + b"\x02\x00" + b"d" * 32
    assert report == (3, 0, "report", "first", body, b"")
    (first,) = seals([report], [b""], [KEY])
    assert first == hmac.digest(KEY, struct.pack("<qq3I", 3, 0, 6, 5, 0) + b"reportfirst" + body, "sha256")
    assert first.hex() == "4b80ed56eb28695ab39383c7df421b776656a04b78ab7aa1f878246ea9d31974"
    training = trained(("features", "label"))
    body = struct.pack("<dQ3dB", 1.5, 9, 1.5, 3.0, 0.75, 14) + b"features,label"
    body += struct.pack("<3d4I", 0.5, 1.0, 0.5, 8, 1, 0, 1) + b"training" + b"f" + b"d"
    assert training == (3, 1, "update", "c", body, b"")
    (second,) = seals([training], [first], [KEY])
    assert second == hmac.digest(KEY, struct.pack("<qq3I", 3, 1, 6, 1, 32) + b"updatec" + first + body, "sha256")
    assert second.hex() == "e98be339f76c7cc83e4215de815439063f9cfe35c36c732a7c94fdaa3a41cd59"
    staged = Query("first", (query.asks, query.asks)).at_stage(1, (0,) * 12)
    (later,) = reports_of(staged, {3: Head(2, second)}, {"label": [b"x"]}, {"label": [b""]})
    assert later.body[:45] == struct.pack("<dIB", 1.5, 1, 32) + staged.grouping_digest and later.number == 2


# --- the chain ----------------------------------------------------------------------------------------------


def chained() -> list[Answer]:
    answers: list[Answer] = []
    for letter in ("a", "", "l", ""):
        row = report_after(answers, ask_for(attributes=letter)) if letter else training_after(answers)
        (seal,) = seals([row], [answers[-1].seal if answers else b""], [KEY])
        answers.append(row._replace(seal=seal))
    return answers


def test_a_whole_chain_is_sound() -> None:
    chain = chained()
    assert verify_seals(chain, KEYS) == [True] * 4 and head_of(chain) == Head(4, chain[-1].seal)
    assert verify_seals([], KEYS) == [] and head_of([]) == Head()
    assert verify_seals(chain, {3: b"x" * 32}) == [False] * 4
    other = report_after([], ask_for(), 4)
    both = [*chain, other._replace(seal=seals([other], [b""], [KEY])[0])]
    assert verify_seals(both, KEYS) == [True] * 5 and verify_seals([*chain[:2], both[-1]], KEYS) == [True] * 3


@pytest.mark.parametrize("at", range(4))
def test_an_edited_missing_repeated_or_moved_answer_breaks_it(at: int) -> None:
    chain = chained()
    before, answer, after = chain[:at], chain[at], chain[at + 1 :]
    last = before[-1].seal if before else b""
    edited = answer._replace(collection="other")
    (honest,), (foreign,), (alone,) = (
        seals([edited], [seal], [key]) for seal, key in ((last, KEY), (last, b"x" * 32), (b"no", KEY))
    )
    broken = [
        [*before, edited, *after],
        [*before, answer, answer, *after],
        [*before, answer._replace(device=4), *after],
        [*before, answer._replace(kind="exchange"), *after],
        [*before, edited._replace(seal=foreign), *after],
        [*before, edited._replace(seal=alone), *after],
    ]
    if after:
        broken += [[*before, *after], [*before, *after, answer]]
        broken.append([*before, *(later._replace(number=later.number - 1) for later in after)])
        # an honest seal in the middle does not help: the one after it covers another
        broken.append([*before, edited._replace(seal=honest), *after])
    for answers in broken:
        told = verify_seals(answers, KEYS)
        assert told[:at] == [True] * at and not all(told)


class Asked:
    """A device's answers, and what it says to a question after them."""

    def __init__(self, *queries: Query) -> None:
        self.answers: list[Answer] = []
        for query in queries:
            self.release(query)

    def __call__(self, query: Query, *, replay: bool = False) -> Decision:
        return decide(self.answers, query, replay=replay)

    def both(self, query: Query) -> Decision:
        """Return what it says under either policy, where this is the same."""
        assert self(query) == self(query, replay=True)
        return self(query)

    def release(self, query: Query) -> None:
        self.answers.append(report_after(self.answers, query)._replace(seal=b"%d" % len(self.answers)))


def test_the_table() -> None:
    query, other = ask_for(attributes="af"), ask_for("second", attributes="af")
    assert Asked().both(query) == NewRelease()
    say, stored = Asked(query), Replay((b"adjacency0", b"features0"))
    assert say.both(query) == stored
    assert say(other) == AlreadyCollected() and say(other, replay=True) == stored
    # A subset, every fingerprint known; in the query's order.
    assert say.both(ask_for(attributes="f")) == Replay((b"features0",))
    assert say(ask_for("second", attributes="f")) == AlreadyCollected()
    # Joined with an attribute that was never released; and that one alone.
    assert say.both(ask_for(attributes="fl")) == say.both(ask_for(attributes="afl")) == AlreadyCollected()
    fresh = say.both(ask_for("second", attributes="l"))
    assert fresh == NewRelease(spent=21.0)  # 11 bits and 10 features
    # Another budget, under either policy, alone or beside a known one.
    for letters in ("a", "af", "al"):
        assert say.both(ask_for(attributes=letters, eps=1.5)) == AlreadyCollected()


def test_attributes_of_two_collections_are_a_repeat_of_neither() -> None:
    """Released by one and by two: together they are asked anew, and only a device that replays says so."""
    say = Asked(ask_for("one", attributes="a"), ask_for("two", attributes="f"))
    for name in ("one", "two", "three"):
        both = ask_for(name, attributes="af")
        assert say(both) == AlreadyCollected() and say(both, replay=True) == Replay((b"adjacency0", b"features0"))
    assert say(ask_for("one", attributes="a")) == Replay((b"adjacency0",))
    assert say(ask_for("one", attributes="f")) == AlreadyCollected()


def stages_of_three() -> Query:
    """The label, then features and label, then the features again."""
    features, label = ask_for(attributes="fl").asks
    return Query("first", ((label,), (features, label), (features,)))


@pytest.mark.parametrize("answered", range(4))
@pytest.mark.parametrize("stage", range(3))
def test_a_later_stage_is_answered_after_all_before_it_alone(answered: int, stage: int) -> None:
    """Every number of stages that were answered, and every stage that is asked then."""
    plan = stages_of_three()
    asked, other = (replace(plan, collection=name).at_stage(stage) for name in ("first", "second"))
    say = Asked(*(plan.at_stage(number) for number in range(answered)))
    stored = Replay(tuple(f"{ask.attribute}{stage}".encode() for ask in plan.plan[stage]))
    head = Head(answered, b"%d" % (answered - 1)) if answered else Head()
    expected: Decision = stored if stage < answered else NewRelease() if stage == answered else AlreadyCollected()
    decision = say.both(asked)
    assert decision == expected and getattr(decision, "head", head) == head
    first = NewRelease() if answered == stage == 0 else AlreadyCollected()  # nobody goes on in another collection
    assert say(other) == first and say(other, replay=True) == (stored if stage < answered else first)


def test_no_other_answer_stands_for_the_stages_before() -> None:
    """Neither one about another attribute, nor one about the same attribute to another question."""
    plan = stages_of_three()
    for before in ("a", "l", "f", "afl"):
        for stage in (1, 2):
            assert Asked(ask_for(attributes=before)).both(plan.at_stage(stage)) == AlreadyCollected()
    say = Asked(plan, plan.at_stage(1, (0, 1)))
    assert say.both(plan.at_stage(1, (0, 1))) == Replay((b"features1", b"label1"))
    assert say.both(plan.at_stage(1, (1, 0))) == say.both(plan.at_stage(1)) == AlreadyCollected()


def test_a_new_release_says_where_the_chain_ends_and_what_was_spent() -> None:
    say = Asked(ask_for("one", attributes="a"), ask_for("two", attributes="f"))
    say.answers.append(training_after(say.answers, loss=0.5)._replace(seal=b"t"))
    decision = say(ask_for(attributes="l"))
    assert isinstance(decision, NewRelease)
    assert decision.spent == 21.5 and decision.head == Head(3, b"t")


def test_an_attribute_that_stands_there_twice_is_damage() -> None:
    say = Asked(ask_for("one", attributes="a"), ask_for("two", attributes="al"))
    with pytest.raises(LedgerDamaged, match="twice"):
        say(ask_for(attributes="f"))
