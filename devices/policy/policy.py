"""Policy of a device: the questions and losses that it agreed to at enrolment.

The verdict on a query depends on the query and the policy alone, never on private values.
It is reached before any data are read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ldpsim.devices import mechanisms
from ldpsim.devices.atomic_files import read_file
from ldpsim.devices.curator_key import check_public
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.foreign.strict_json import read_json
from ldpsim.devices.ledger.rows import TRAINING
from ldpsim.devices.mechanisms.exact_loss import Loss, round_up
from ldpsim.devices.mechanisms.mechanism import Reporting
from ldpsim.devices.query import ATTRIBUTES, Query
from ldpsim.devices.training_task import AnswerKind, Task

Mode = Literal["report", "federated", "owner"]
OnRequery = Literal["refuse", "replay"]
CAP_LEVELS = ("bit", "vector", "user")
_FIELDS = {"mode", "caps", "mechanisms", "facts", "reporting", "on_requery", "user_cap"}
_PINS = {"collector", "questions", "volunteers"}
VOLUNTEERED = frozenset({"features", "label"})  # what a volunteer gives in clear


@dataclass(frozen=True)
class Cap:
    """Largest loss that one attribute may ever have, by level.

    ``user`` and ``vector`` bound the same number, the loss when the whole attribute
    changes; they are kept apart because people set them apart. ``delta`` is the largest
    delta, 0 where only pure losses are accepted.
    """

    bit: float
    vector: float
    user: float
    delta: float = 0.0

    def allows(self, loss: Loss) -> bool:
        """Return whether a report of this loss stays under the cap."""
        return loss.bit <= self.bit and loss.vector <= min(self.vector, self.user) and loss.delta <= self.delta


@dataclass(frozen=True, eq=False)
class Policy:
    """The rules of a device.

    Args:
        mode: ``report`` (one private report), ``federated`` or ``owner``.
        caps: Attribute -> largest loss; an attribute that is not listed is never released.
        mechanisms: Names of the mechanisms it accepts.
        facts: The public facts it believes.
        reporting: ``both`` or ``one-end``; a ``one-end`` device reports j < i only.
        on_requery: Answer to a question that another collection repeats: ``refuse`` or ``replay``.
        user_cap: Largest loss that all the device's releases may ever add up to.
        collector: Public key of the one curator whose signed questions are answered, 64
            hexadecimal digits; None answers any curator.
        questions: Digests (hexadecimal) of the only queries it accepts; None accepts any inside the caps.
        volunteers: Public numbers of the people who give features and label in clear. Their devices answer that
            alone, and no other device answers anything in clear. None: nobody volunteers, and the caps decide.

    Raises:
        ValueError: for a key of another form, or a federated policy with a key or questions:
            the messages of a training carry no signature.

    >>> from ldpsim.devices.mechanisms import GRR
    >>> from ldpsim.devices.query import Ask
    >>> facts = PublicFacts(n=4, d=3, classes=2)
    >>> one, two = (Query("c", ((Ask("label", (GRR.from_epsilon(e, categories=2),)),),)) for e in (1.0, 2.0))
    >>> policy = policy_for([one], facts)
    >>> policy.allows(one, device=0), policy.allows(two, device=0)
    (True, False)
    """

    mode: Mode
    caps: Mapping[str, Cap]
    mechanisms: frozenset[str]
    facts: PublicFacts
    reporting: Reporting = "both"
    on_requery: OnRequery = "refuse"
    user_cap: float = math.inf
    collector: str | None = None
    questions: frozenset[str] | None = None
    volunteers: frozenset[int] | None = None
    _verdicts: dict[tuple[bytes, int, bool], bool] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.collector is not None:
            check_public(self.collector)
        if self.mode == "federated" and (self.collector is not None or self.questions is not None):
            raise ValueError("a federated training is not signed, so its devices cannot pin a curator or questions")

    def allows(self, query: Query, *, device: int) -> bool:
        """Return whether all stages of this query are inside the policy of this device."""
        # Only a one-end row has a loss of its own for each device, and a volunteer has another role.
        key = (query.digest, device if self.reporting == "one-end" else -1, self._volunteers(device))
        verdict = self._verdicts.get(key)
        if verdict is None:
            if len(self._verdicts) > 4096:
                self._verdicts.clear()
            verdict = self._verdicts[key] = self._judge(query, device if key[1] >= 0 else None, key[2])
        return verdict

    def allows_total(self, total: float, *, device: int) -> bool:
        """Return whether all releases of this device may add up to a loss of ``total``."""
        return math.isinf(self.user_cap) or self._volunteers(device) or round_up(total) <= self.user_cap

    def allows_round(self, task: Task, kind: AnswerKind, spent: Loss) -> bool:
        """Return whether an answer in a federated training stays inside the policy, after ``spent`` in earlier ones."""
        cap = self.caps.get(TRAINING)
        if cap is None or task.mechanism not in self.mechanisms or not task.agrees_with(self.facts):
            return False
        total = spent + task.loss(kind)
        return cap.allows(total) and total.vector <= self.user_cap

    def _volunteers(self, device: int) -> bool:
        return self.volunteers is not None and device in self.volunteers

    def _judge(self, query: Query, device: int | None, volunteers: bool) -> bool:
        # Cheap checks first: a loss is computed only for a question that passes all others.
        if self.questions is not None and query.digest.hex() not in self.questions:
            return False
        if self.volunteers is not None and query.in_clear is not volunteers:
            return False
        if not set(query.attributes) <= (VOLUNTEERED if volunteers else set(self.caps)):
            return False
        for stage in query.plan:
            for ask in stage:
                for mechanism in ask.mechanisms:
                    if mechanism.name not in self.mechanisms or not mechanism.agrees_with(self.facts):
                        return False
                    if "adjacency" in ask.attributes and self.reporting == "one-end" != mechanism.reporting:
                        return False
        return volunteers or all(
            self.caps[name].allows(query.loss(name, device=device)) for name in query.attributes
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as JSON values; pins and volunteers are in it only where there are any."""
        values = {
            name: sorted(value) if isinstance(value, frozenset) else value
            for name, value in vars(self).items()
            if value is not None and name != "_verdicts"
        }
        caps = {name: asdict(cap) for name, cap in sorted(self.caps.items())}
        total = self.user_cap if math.isfinite(self.user_cap) else None
        return {**values, "caps": caps, "facts": self.facts.to_dict(), "user_cap": total}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """Read :meth:`to_dict` back."""
        return cls(
            mode=values["mode"],
            caps={name: Cap(**cap) for name, cap in values["caps"].items()},
            mechanisms=frozenset(values["mechanisms"]),
            facts=PublicFacts.from_dict(values["facts"]),
            reporting=values["reporting"],
            on_requery=values["on_requery"],
            user_cap=math.inf if values.get("user_cap") is None else float(values["user_cap"]),
            collector=values.get("collector"),
            questions=None if values.get("questions") is None else frozenset(values["questions"]),
            volunteers=None if values.get("volunteers") is None else frozenset(values["volunteers"]),
        )


def policy_for(
    queries: Iterable[Query],
    facts: PublicFacts,
    *,
    reporting: Reporting = "both",
    on_requery: OnRequery = "refuse",
    caps: Mapping[str, float] | None = None,
    mode: Mode = "report",
    collector: str | None = None,
    only_these: bool = False,
    volunteers: Iterable[int] | None = None,
) -> Policy:
    """Return the policy that simulated devices enrol with for these queries.

    The caps are the queries' own losses; ``caps`` (level -> loss) overrides a level for
    every attribute asked, and ``user`` bounds what all releases add up to as well.
    Attributes that no query asks about are never released. ``mode`` is ``owner`` where the
    query is the hand-over of a record. ``collector`` pins a public key, ``only_these`` the queries. With
    ``volunteers`` (their public numbers) queries that are all in clear are for them, and raise nobody's cap. Everybody
    else answers one of the other queries, so all releases of a person add up to the largest total of these at most.

    Raises:
        ValueError: for a level that is not bit, vector or user, or a cap that is negative or nan.
    """
    limits = _checked(caps)
    largest: dict[str, Cap] = {}
    accepted: set[str] = set()
    digests: set[str] = set()
    most = 0.0
    for query in queries:
        digests.add(query.digest.hex())
        accepted |= {m.name for stage in query.plan for ask in stage for m in ask.mechanisms}
        if volunteers is not None and query.in_clear:
            continue
        most = max(most, query.total())
        for name in query.attributes:
            loss = query.loss(name)
            old = largest.get(name, Cap(0.0, 0.0, 0.0))
            vector = max(old.vector, loss.vector)
            largest[name] = Cap(max(old.bit, loss.bit), vector, vector, max(old.delta, loss.delta))
    final = {
        name: Cap(limits.get("bit", c.bit), limits.get("vector", c.vector), limits.get("user", c.user), c.delta)
        for name, c in largest.items()
    }
    total = limits.get("user", math.inf if volunteers is None else most)
    only = frozenset(digests) if only_these else None
    given_in_clear = None if volunteers is None else frozenset(map(int, volunteers))
    return Policy(
        mode, final, frozenset(accepted), facts, reporting, on_requery, total, collector, only, given_in_clear
    )  # fmt: skip


def _checked(caps: Mapping[str, float] | None) -> dict[str, float]:
    for level, value in (caps or {}).items():
        if level not in CAP_LEVELS:
            raise ValueError(f"--cap {level}={value:g}: the level must be one of {', '.join(CAP_LEVELS)}")
        if not value >= 0:
            raise ValueError(f"--cap {level}={value:g}: a cap is a number of 0 or more")
    return dict(caps or {})


def policy_for_training(
    task: Task, facts: PublicFacts, *, answers: int, caps: Mapping[str, float] | None = None
) -> Policy:
    """Return the policy that simulated devices enrol with for a federated training.

    The cap is what ``answers`` updates lose together; without noise nothing bounds it, and
    the device has agreed to that.

    Raises:
        ValueError: as :func:`policy_for`.
    """
    limits = _checked(caps)
    each = task.loss("update")
    total = Loss(round_up(answers * each.bit), round_up(answers * each.vector), answers * each.delta * (1 + 1e-12))
    cap = Cap(limits.get("bit", total.bit), limits.get("vector", total.vector), limits.get("user", total.vector),
              total.delta)  # fmt: skip
    accepted = frozenset({task.mechanism})
    return Policy("federated", {TRAINING: cap}, accepted, facts, user_cap=limits.get("user", math.inf))


def read_policy(path: Path) -> Policy:
    """Read a policy and check every field, because a slip here is a loss of privacy.

    Raises:
        ValueError: one line, where the file is missing or not of this form.
    """
    try:
        values = read_json(read_file(path), finite=False)  # a cap of what is in clear is infinite
        _check(values)
        return Policy.from_dict(values)
    except OSError as error:
        raise ValueError(f"--policy {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"--policy {path}: not a policy ({error})") from error


def write_policy(policy: Policy) -> str:
    """Return the text of a policy's file."""
    return json.dumps(policy.to_dict(), indent=1) + "\n"


def _check(values: Any) -> None:
    if not isinstance(values, dict) or set(values) - _PINS != _FIELDS:
        fields, pins = ", ".join(sorted(_FIELDS)), ", ".join(sorted(_PINS))
        raise ValueError(f"it has the fields {fields}, may have {pins}, and no others")
    for name, kind in (("mode", Mode), ("reporting", Reporting), ("on_requery", OnRequery)):
        if values[name] not in get_args(kind):
            raise ValueError(f"{name} is one of {', '.join(get_args(kind))}")
    for name in values["mechanisms"]:
        if name != "handed_over" and mechanisms.find(str(name)) is None:
            raise ValueError(f"no mechanism is called {name}")
    for attribute, cap in values["caps"].items():
        if attribute not in ATTRIBUTES:
            raise ValueError(f"there is no attribute {attribute}")
        for level, value in cap.items():
            _check_cap(f"{attribute}'s cap on {level}", value)
    for digest in values.get("questions", ()):
        if not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
            raise ValueError("questions are lists of 64 hexadecimal digits each")
    for person in values.get("volunteers", ()):
        if type(person) is not int or person < 0:
            raise ValueError("volunteers are public numbers of people")
    if values["user_cap"] is not None:
        _check_cap("user_cap", values["user_cap"])


def _check_cap(name: str, value: Any) -> None:
    if type(value) not in (int, float) or math.isnan(value) or value < 0:
        raise ValueError(f"{name} is a number of 0 or more")
