"""Schedules: made from a seed and steered to what is rare, run again from their steps, shrunk and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.faults.judge import Violation
from tests.faults.life import Life, Step
from tests.faults.racing import RACES, race
from tests.faults.removals import REMOVALS, remove_or_replace
from tests.faults.steps import ACTIONS, settle
from tests.faults.training import TRAIN_ACTIONS, TRAININGS, TrainLife, settle_training
from tests.faults.world import SETTINGS, World

BLOCK = 1000  # seeds whose schedules are steered together
TWINS = 20  # every so many schedules one is run again with other records
MOST_STEPS = 12
LINES = 20
EVERY_SETTING = (*SETTINGS, *TRAININGS, *RACES, *REMOVALS)
KINDS = ("reports", "trainings", "races", "removals")  # of schedules; each kind has seeds of its own
_OF_KIND = {"reports": SETTINGS, "trainings": TRAININGS, "races": RACES, "removals": REMOVALS}


@dataclass
class Coverage:
    """How often each kind of step was done in each state of the world."""

    seen: Counter[tuple[str, str]] = field(default_factory=Counter)

    def choose(self, life: Life, rng: Random) -> str:
        """Return the next step: each by its weight, and less the more often it was done in this state."""
        state, actions = state_of(life), actions_of(life)
        names = list(actions)
        weights = [actions[name][0] / (1 + 0.1 * self.seen[name, state]) ** 0.5 for name in names]
        (name,) = rng.choices(names, weights)
        self.seen[name, state] += 1
        return name


def actions_of(life: Life) -> _Actions:
    """Return the steps of a kind of schedule."""
    if life.setting.removals:
        return _REMOVAL_ACTIONS
    return _ACTIONS[life.setting.training, life.setting.racing]


_Actions = Mapping[str, tuple[float, Any]]


def _racing(actions: _Actions) -> _Actions:
    """Return the steps where two processes that are asked at once take turns."""
    return {**{name: action for name, action in actions.items() if name != "ask two at once"}, "race": (6.0, race)}


_ACTIONS: dict[tuple[bool, bool], _Actions] = {  # by whether they train and race
    (False, False): ACTIONS, (False, True): _racing(ACTIONS),
    (True, False): TRAIN_ACTIONS, (True, True): _racing(TRAIN_ACTIONS),
}  # fmt: skip
_REMOVAL_ACTIONS: _Actions = {**ACTIONS, "a file goes": (2.0, remove_or_replace)}


def life_of(world: World, setting: int, seed: int, *, twin: bool = False) -> Life:
    """Return the beginning of a schedule, by the number of its setting in :data:`EVERY_SETTING`."""
    kind = TrainLife if EVERY_SETTING[setting].training else Life
    return kind(world, EVERY_SETTING[setting], seed, twin=twin)


def state_of(life: Life) -> str:
    """Return the state of the world in a word: counter, copies, whether anybody answered, what is out of order."""
    trouble = "trouble" if life.hurt or life.world.server.down or life.world.disks.disk("c").broken else ""
    loose = "rotten" if any(lineage.loose for lineage in life.judge.lineages.values()) else ""
    parts = (life.setting.counter, f"copies {len(life.copies)}", "answered" if life.judge.left else "", trouble, loose,
             "old" if life.snapshots else "", "mail" if life.mail else "")  # fmt: skip
    return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Schedule:
    """A schedule that was run.

    Args:
        seed: Its seed.
        setting: Number of its setting.
        steps: Its steps.
    """

    seed: int
    setting: int
    steps: tuple[Step, ...]


@dataclass
class Result:
    """What came of a schedule."""

    schedule: Schedule
    violation: str = ""
    story: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    faults: int = 0
    asks: int = 0
    replies: int = 0


def make(world: World, seed: int, coverage: Coverage, kind: str = KINDS[0]) -> Result:
    """Make the schedule of a seed, and run it; its kind is one of :data:`KINDS`."""
    rng = Random(seed)
    setting = EVERY_SETTING.index(rng.choice(_OF_KIND[kind]))
    life = life_of(world, setting, seed)
    steps: list[Step] = []
    wanted = rng.randrange(4, MOST_STEPS + 1)

    def following() -> Step | None:
        if len(steps) == wanted:
            return None
        steps.append((coverage.choose(life, rng), rng.getrandbits(32)))
        return steps[-1]

    violation = _run(life, following, seed)
    result = _result(Schedule(seed, setting, tuple(steps)), life, violation)
    if seed % TWINS == 0 and not violation:
        result.violation = compare_twin(world, result)
    return result


def again(world: World, schedule: Schedule, *, twin: bool = False) -> Result:
    """Run the steps of a schedule, or those of its twin, whose people have other records."""
    life = life_of(world, schedule.setting, schedule.seed, twin=twin)
    rest = iter(schedule.steps)
    return _result(schedule, life, _run(life, lambda: next(rest, None), schedule.seed))


def _run(life: Life, following: object, seed: int) -> str:
    try:
        while (step := following()) is not None:  # type: ignore[operator]
            name, number = step
            actions_of(life)[name][1](life, Random(number))
        if isinstance(life, TrainLife):
            settle_training(life, Random(seed))
        else:
            settle(life, Random(seed))
    except Violation as error:
        return str(error)
    finally:
        for copy in life.copies.values():
            for process in list(copy.processes):
                life.end(process)
    return ""


def compare_twin(world: World, result: Result) -> str:
    """Return how the replies differ if the people have other records; empty where they do not.

    Every code, every size of a report and every step of a disk is compared.
    """
    other = again(world, result.schedule, twin=True)
    if (other.codes, other.violation) == (result.codes, ""):
        return ""
    at = next((k for k, pair in enumerate(zip(result.codes, other.codes, strict=False)) if pair[0] != pair[1]), -1)
    return f"with other records, reply {at + 1} is {other.codes[at]} in place of {result.codes[at]}"


def _result(schedule: Schedule, life: Life, violation: str) -> Result:
    return Result(schedule, violation, life.story, life.codes, life.faults, life.asks, life.judge.left)


def shrink(world: World, schedule: Schedule) -> Schedule:
    """Return a shorter schedule that violates an invariant too: steps are left out for as long as it does."""
    by_twin = not again(world, schedule).violation

    def violates(fewer: Schedule) -> bool:
        result = again(world, fewer)
        return bool(compare_twin(world, result) if by_twin and not result.violation else result.violation)

    steps = list(schedule.steps)
    size = max(1, len(steps) // 2)
    while size:
        at = 0
        while at < len(steps):
            fewer = Schedule(schedule.seed, schedule.setting, tuple(steps[:at] + steps[at + size :]))
            if violates(fewer):
                steps = list(fewer.steps)
            else:
                at += size
        size //= 2
    return Schedule(schedule.seed, schedule.setting, tuple(steps))


def told(result: Result) -> str:
    """Return the story of a schedule in at most :data:`LINES` lines."""
    lines = result.story
    setting = EVERY_SETTING[result.schedule.setting]
    kind = {"file": "a counter in a file", "server": "a counter on a server", "": "no counter"}[setting.counter]
    more = (", a pinned collector" if setting.signed else "") + (", repeats are replayed" if setting.replay else "")
    more += (", trainings" if setting.training else "") + (", races" if setting.racing else "")
    more += ", removals" if setting.removals else ""
    head = f"seed {result.schedule.seed}: hosts a (devices 0, 1, 2) and b (3, 4), {kind}{more}"
    if len(lines) > LINES - 2:
        lines = [f"({len(lines) - LINES + 3} lines before)", *lines[3 - LINES :]]
    return "\n".join([head, *lines, f"VIOLATION: {result.violation}" if result.violation else "no violation"])


def blocks(first: int, last: int) -> Sequence[range]:
    """Return the seeds from ``first`` to ``last`` in blocks; each block is steered by its own schedules."""
    return [range(start, min(start + BLOCK, last)) for start in range(first, last, BLOCK)]
