"""A Ray of this process that loses workers and machines at given points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ldpsim.strategies.engines.ray_session import RaySession


class Lost(Exception):
    """What Ray raises for a worker that is lost."""


class ObjectLost(Exception):
    """What Ray raises for a reply that is lost."""


class TaskFailed(Exception):
    """What Ray raises for an error of the worker's own."""

    def __init__(self, cause: Exception) -> None:
        super().__init__("a traceback of many lines")
        self.cause = cause


class Actor:
    """An actor; the plan of its Ray says when it is lost."""

    def __init__(self, ray: OneProcessRay, worker: Any, machine: str) -> None:
        self.ray, self.worker, self.number, self.machine = ray, worker, len(ray.actors), machine
        self.dead, self.answered = machine not in ray.homes, 0

    def __getattr__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *given: self.ray.submit(self, name, given))


class OneProcessRay:
    """As much of Ray as the grids use. Calls of an actor run in their order, when somebody waits.

    Args:
        lose: Point at which an actor is lost, at its second batch, by the actor's number.
        homes: Folder of each machine; the machine of a lost actor of this list is lost as well.
    """

    exceptions = SimpleNamespace(RayActorError=Lost, ObjectLostError=ObjectLost, RayTaskError=TaskFailed)

    def __init__(self, lose: dict[int, str], homes: dict[str, Path], *, machines: bool = True) -> None:
        self.lose, self.actors, self.queue, self.results = lose, list[Actor](), list[Any](), dict[int, Any]()
        self.homes, self.with_machine = dict(homes), machines

    def remote(self, **_: Any) -> Callable[[type[Any]], Any]:
        def kind(worker: type[Any]) -> SimpleNamespace:
            def start(machine: str, given: str, **more: bool) -> Actor:
                self.actors.append(Actor(self, worker(given, self.homes.get(machine), **more), machine))
                return self.actors[-1]

            return SimpleNamespace(
                options=lambda scheduling_strategy: SimpleNamespace(remote=partial(start, scheduling_strategy))
            )

        return kind

    def submit(self, actor: Actor, name: str, given: Sequence[Any]) -> int:
        reference = len(self.results)
        self.results[reference] = None
        self.queue.append((reference, actor, name, given))
        return reference

    def wait(self, references: list[int], *, num_returns: int, timeout: float = 0) -> tuple[list[int], list[int]]:
        while sum(self.results[r] is not None for r in references) < num_returns and self.queue:
            reference, actor, name, given = self.queue.pop(0)
            self.results[reference] = self.run(actor, name, given)
        done = [r for r in references if self.results[r] is not None]
        return done, [r for r in references if r not in done]

    def run(self, actor: Actor, name: str, given: Sequence[Any]) -> tuple[str, Any]:
        point = self.lose.get(actor.number) if name == "answer" and actor.answered == 1 else None
        actor.answered += name == "answer"
        if point == "before the commit":
            self.end(actor)
        if actor.dead:
            return "lost", None
        try:
            value = getattr(actor.worker, name)(*given)
        except Exception as error:
            return "failed", error
        if point == "reply lost":
            return "object lost", None
        if point == "after the commit":
            self.end(actor)
        return ("lost", None) if actor.dead else ("value", value)

    def end(self, actor: Actor) -> None:
        """End an actor, and the others of its machine."""
        actor.dead = True
        if self.with_machine and self.homes.pop(actor.machine, None) is not None:
            for other in self.actors:
                other.dead |= other.machine == actor.machine

    def get(self, reference: int | list[int]) -> Any:
        if isinstance(reference, list):
            return [self.get(one) for one in reference]
        self.wait([reference], num_returns=1)
        kind, value = self.results[reference]
        if kind == "failed":
            raise TaskFailed(value)
        if kind != "value":
            raise Lost if kind == "lost" else ObjectLost
        return value

    def kill(self, actor: Actor) -> None:
        actor.dead = True


class Session:
    """Session of a grid with such a Ray."""

    lost = (Lost, ObjectLost)
    get = RaySession.get

    def __init__(self, ray: OneProcessRay, cores: int = 1) -> None:
        self.ray, self.cores = ray, cores

    @property
    def machines(self) -> dict[str, SimpleNamespace]:
        """Each machine has the same number of cores."""
        return {name: SimpleNamespace(cores=self.cores, host=name, is_gone=lambda: False) for name in self.ray.homes}

    def on(self, machine: str) -> str:
        return machine

    def close(self) -> None:
        """Leave it."""
