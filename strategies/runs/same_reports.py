"""One collection whose reports several methods read (``ldpsim compare --same-reports``).

    set-up of a method -> name of its collection -> equal names: one collection

The people of a shared collection are enrolled once and asked once, under their own ledgers. The
first method that needs the reports collects them; the others wait for it and read them. A stopped
collection is continued by any of the methods: its id is open under the collection's name.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from curator.methods import Question
from devices.atomic_files import exclusive_lock
from devices.enrolment.state import State
from strategies.progress import Progress
from strategies.rounds.kept_reports import are_kept, write_reports
from strategies.rounds.stages import stages_of
from strategies.runs.asking import gather_reports
from strategies.runs.run import RepeatContext
from strategies.runs.set_up import run_of, set_scene
from strategies.setup.options import LINKS
from strategies.setup.run_setup import RunSetup

_ID = "same-reports"  # collection id of the questions when nobody is asked


def collection_name(setup: RunSetup) -> str:
    """Return the name of a run's collection; runs with one name have byte-identical reports.

    The name covers the people, their questions and policy, the noise seeds and the devices that never answer.
    A noise seed of the operating system is no number: runs with one name then share reports only if they
    share the collection.

    Raises:
        ValueError: one line: the method asks for no report, or in stages of its own.
    """
    if setup.options.task == LINKS:
        raise ValueError(f"--task {LINKS}: each method has reports of its own")
    run, parts = run_of(setup.method), list[Any]()
    for repeat in setup.repeats:
        questions = run.questions(setup, repeat.split, _ID)
        policy = run.policy(setup, questions)
        if policy is None or run.mode != "report":
            raise ValueError(f"{setup.method.name} asks for no report")
        if stages_of(questions) > 1:
            raise ValueError(f"{setup.method.name} asks in stages, and makes the later questions itself")
        asked = [(question.query.to_bytes().decode("ascii"), _numbers(question)) for question in questions]
        parts.append([asked, policy.to_dict(), repeat.seeds.noise, sorted(repeat.silent)])
    text = json.dumps([setup.population.digest, parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def shared_scene(setup: RunSetup, number: int, folder: Path, place: Path, tell: Progress) -> RepeatContext:
    """Return the scene of a repeat whose reports are kept; ask for them if no other method did.

    Args:
        setup: The run.
        number: The repeat, from 0.
        folder: The run's folder.
        place: Folder of the collection; its name is that of :func:`collection_name`.
        tell: Called with a phase and the share of it that is done.

    Raises:
        Refused, RunFailed: as :func:`strategies.runs.asking.ask_devices`.
    """
    home, kept = (place / (name if number == 0 else f"{name}-{number}") for name in ("state", "reports"))
    place.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(place):
        if not are_kept(kept):
            _collect(set_scene(replace(setup, digest=place.name), number, folder, home, tell), kept)
    questions = run_of(setup.method).questions(setup, setup.repeats[number].split, _ID)
    return RepeatContext(setup, number, folder, home, State(home), _ID, False, questions, tell, kept)


def _collect(scene: RepeatContext, kept: Path) -> None:
    """Ask the devices and keep their reports."""
    scene.tell("collect", None)
    _, collected, reports = gather_reports(scene)
    write_reports(kept, collected, reports)
    scene.end_collection()


def _numbers(question: Question) -> str:
    """Return a digest of the devices that are asked, empty for everybody."""
    return "" if question.devices is None else hashlib.sha256(question.devices.astype("<i8").tobytes()).hexdigest()
