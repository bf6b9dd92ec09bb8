"""Options of ``ldpsim poison``, and the cells that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from curator.defences import ALL, DEFENCES
from curator.methods import find
from curator.names import check_known
from curator.reports.question import Question
from devices.facts import Split
from devices.mechanisms.base import Mechanism
from strategies.attacks.liars.accounts import JOINING, check_amount
from strategies.attacks.liars.attacks import ATTACKS, DESCRIPTIONS, SILENT
from strategies.attacks.liars.plan import GOALS, KNOWLEDGE, LIES, Attack
from strategies.experiments.compare import cells_of
from strategies.runs.set_up import run_of
from strategies.setup.option_spec import declared
from strategies.setup.options import RunOptions
from strategies.setup.read_options import read_alone
from strategies.setup.run_setup import RunSetup

NONE = "none"
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_OF_UPDATES = ("same-direction",)  # attacks of people that accounts have as well
OF_EDGES = ("connect", "influence", "hide")  # goals that only a reconstructed graph shows


@dataclass(frozen=True, kw_only=True)
class PoisonOptions:
    """Options of a measurement.

    Args:
        methods: Names, in the order of display.
        run: Options of every run, as in ``compare``.
        epsilons: Total budgets; empty: the one of ``run``.
        attacks: Names; empty: all that fit a method's reports.
        lies: Some of ``input`` and ``response``.
        goal: One of :data:`strategies.attacks.liars.plan.GOALS`; None: each attack's own.
        knowledge: One of :data:`strategies.attacks.liars.plan.KNOWLEDGE`.
        targets: Number of chosen people, honest test people.
        target_class: The chosen class.
        fakes: Number of people that ``fakes`` adds to a row.
        shares: Shares of all people who lie, 0 first.
        inject: Fake accounts that join, in place of people who lie: numbers, or below 1 shares of the honest people.
            Then they are the shares.
        defences: Names; ``none`` is always among them.
        false_alarm: Share of honest people that a defence may flag.

    Raises:
        ValueError: one line, for options that do not fit.
    """

    methods: tuple[str, ...]
    run: RunOptions
    epsilons: tuple[float, ...] = ()
    attacks: tuple[str, ...] = ()
    lies: tuple[str, ...] = LIES
    goal: str | None = None
    knowledge: str = "all"
    targets: int = 20
    target_class: int = 0
    fakes: int = 50
    shares: tuple[float, ...] = SHARES
    inject: tuple[float, ...] = ()
    defences: tuple[str, ...] = (NONE,)
    false_alarm: float = 1e-3
    workers: int | None = None
    runs: Mapping[str, RunOptions] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for option, given, known in (
            ("attack", self.attacks, DESCRIPTIONS), ("lie", self.lies, LIES),
            ("goal", (self.goal,) if self.goal else (), GOALS), ("knowledge", (self.knowledge,), KNOWLEDGE),
            ("defence", self.defences, (NONE, ALL, *DEFENCES)),
        ):  # fmt: skip
            for name in given:
                check_known(option, name, known)
        if self.inject:
            self._check_accounts()
            object.__setattr__(self, "shares", self.inject)
        elif joining := [name for name in self.attacks if name in JOINING]:
            raise ValueError(f"--attack {joining[0]}: is an attack of accounts that join, so it needs --inject")
        for share in self.shares if not self.inject else ():
            if not 0 <= share < 1:
                raise ValueError(f"--shares {share:g}: a share of all people, 0 or more and below 1")
        if not any(self.shares):
            option = "--inject 0: at least one number" if self.inject else "--shares 0: at least one share"
            raise ValueError(f"{option} above 0 is needed; share 0 is always run")
        for epsilon in self.epsilons:
            declared(RunOptions)["epsilon"].check(epsilon)
        for option, number, least in (("targets", self.targets, 1), ("fakes", self.fakes, 0),
                                      ("target-class", self.target_class, 0)):  # fmt: skip
            if number < least:
                raise ValueError(f"--{option} {number}: must be {least} or more")
        declared(RunOptions)["false_alarm"].check(self.false_alarm)
        if self.run.engine == "flower":
            raise ValueError("--engine flower: lying devices run on the engines local and ray")
        if self.run.dropout:
            raise ValueError(f"--dropout {self.run.dropout:g}: silent devices are the control of this command")
        if self.run.state is not None or self.run.from_reports is not None:
            raise ValueError("--state and --from-reports: each cell needs devices of its own")
        object.__setattr__(self, "shares", tuple(sorted({0.0, *self.shares})))
        object.__setattr__(self, "defences", tuple(dict.fromkeys((NONE, *self.defences))))
        own = cells_of(self.methods, self.run, {})  # checks the names and --set
        object.__setattr__(self, "runs", {cell.label: replace(cell.options, engine=self.run.engine) for cell in own})

    def _check_accounts(self) -> None:
        for amount in self.inject:
            check_amount(amount)
        people = [name for name in self.attacks if name not in (*JOINING, *_OF_UPDATES, SILENT)]
        if people:
            raise ValueError(f"--attack {people[0]}: is a lie of people who are there; accounts that join have "
                             f"{', '.join((*JOINING, *_OF_UPDATES))}")  # fmt: skip
        if self.goal == "hide":
            raise ValueError("--goal hide: accounts that join have no edges of their own to hide")
        if self.knowledge != "all":
            raise ValueError(f"--knowledge {self.knowledge}: accounts that join copy people whom they know (all)")
        if self.run.volunteers is not None:
            raise ValueError("--volunteers: accounts that join are measured without volunteers")
        for method in self.methods:
            if find(method).trained_by not in ("curator", "devices"):
                raise ValueError(f"{method}: its records are in the hands of an owner, of silos or of nobody; "
                                 "--inject is for devices that report or train in rounds")  # fmt: skip


@dataclass(frozen=True)
class PoisonCell:
    """One training among lying devices.

    Args:
        options: The run, with its epsilon and defence, without a folder.
        number: The repeat, from 0.
        attack: Name of the attack; ``none`` at share 0.
        lie: ``input`` or ``response``; empty for ``none`` and ``silent``.
        goal: The goal.
        share: Share of the people who lie, or the accounts that join: their number, or below 1 a share.
        defence: Name of the defence.
        asked: The whole measurement.
    """

    options: RunOptions
    number: int
    attack: str
    lie: str
    goal: str
    share: float
    defence: str
    asked: PoisonOptions = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """Name of the cell in its folder."""
        epsilon = NONE if self.options.epsilon is None else f"{self.options.epsilon:g}"
        parts = (self.options.method, epsilon, self.attack, self.lie or NONE, self.goal, self.amount,
                 self.defence, str(self.number), *(("joined",) if self.joins and self.share else ()))  # fmt: skip
        return "_".join(parts)

    @property
    def joins(self) -> bool:
        """Whether accounts join, in place of people who lie."""
        return bool(self.asked.inject)

    @property
    def amount(self) -> str:
        """The share, or the number of accounts, in a name."""
        return f"{self.share:.12g}" if self.joins else f"{self.share:g}"


def fitting(setup: RunSetup, split: Split, *, joins: bool = False) -> list[Attack]:
    """Return the attacks that are about a method's reports or updates; ``joins``: those of accounts that join."""
    method, asked = setup.method, mechanisms_of(setup, split)
    possible = ATTACKS.values() if not joins else [*JOINING.values(), *(ATTACKS[name] for name in _OF_UPDATES)]
    return [attack for attack in possible
            if any(map(attack.fits, asked)) or (attack.trains and method.in_rounds)]  # fmt: skip


def mechanisms_of(setup: RunSetup, split: Split) -> list[Mechanism]:
    """Return the mechanisms of a method's questions."""
    questions: Sequence[Question] = run_of(setup.method).questions(setup, split, "fit")
    return [mechanism for question in questions for stage in question.query.plan for ask in stage
            for mechanism in ask.mechanisms]  # fmt: skip


def cells_for(asked: PoisonOptions, options: RunOptions, fits: Sequence[Attack]) -> Iterator[PoisonCell]:
    """Yield the cells of a method at one budget, the smallest shares first.

    Raises:
        ValueError: where no attack that was asked for fits.
    """
    wanted = [attack for attack in fits if not asked.attacks or attack.name in asked.attacks]
    if not wanted and set(asked.attacks) != {SILENT}:
        names = ", ".join(attack.name for attack in fits) or NONE
        raise ValueError(f"--attack {', '.join(asked.attacks) or 'all'}: fits no report of {options.method} "
                         f"(these do: {names})")  # fmt: skip
    method = find(options.method)
    edges = not method.in_rounds and not method.public_graph
    raw = method.trained_by in (
        "silos",
        "owner",
        "graph owner",
    )  # a record in clear: an input lie is a response at once
    for number, share, defence in product(range(options.repeats), asked.shares, asked.defences):
        made = with_defence(options, defence, asked.false_alarm)
        if not share:
            first = replace(made, nulls=options.nulls and defence == NONE and not number)
            yield PoisonCell(first, number, NONE, "", "untargeted", 0.0, defence, asked)
            continue
        lies = replace(made, nulls=False)
        if defence == NONE:
            yield PoisonCell(lies, number, SILENT, "", "untargeted", share, NONE, asked)
        for attack in wanted:
            goal = asked.goal or (attack.goal if edges or attack.goal not in OF_EDGES else "untargeted")
            for lie in ("input",) if raw and "input" in attack.lies else attack.lies:
                if lie in asked.lies:
                    yield PoisonCell(lies, number, attack.name, lie, goal, share, defence, asked)


def with_defence(options: RunOptions, defence: str, false_alarm: float) -> RunOptions:
    """Return the options with a defence in force; without one there is no false alarm."""
    return options if defence == NONE else replace(options, defence=defence, false_alarm=false_alarm)


def budgets(asked: PoisonOptions, method: str) -> list[RunOptions]:
    """Return the options of a method at each budget; a method whose answers have no budget runs once."""
    options = replace(asked.runs[method], out=None)
    several = [replace(options, epsilon=epsilon) for epsilon in asked.epsilons]
    return several if several and "epsilon" not in read_alone(several[0])[1] else [options]
