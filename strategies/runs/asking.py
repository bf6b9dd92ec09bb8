"""Asking the devices of a repeat, once: one round or several, and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from ldpsim.curator.methods import Question
from ldpsim.curator.methods.base import LocalMethod
from ldpsim.curator.reports.question import number_of_recipients, stages_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.device import Refusal
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.wire import REASONS
from ldpsim.strategies.engines.collect import Connection, open_connection
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.several_rounds import ask_rounds
from ldpsim.strategies.runs.errors import Refused, RunFailed
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.disk_space import check_refused


def ask(repeat: Repeat) -> Collected:
    """Ask the devices of a repeat its questions, in as many rounds as its method has.

    Returns:
        The result of the collection, with the questions of all rounds at their latest stage. A curator has the decoded
        reports, or those of ``--from-reports``; an owner has the records' bytes. Nobody is asked where the plan has no
        question.

    Raises:
        Refused: if no device reported or replayed and at least one refused.
        RunFailed: if no device answered, or an earlier start stopped for good.
        OSError: if devices could not answer because the disk is full.
    """
    setup, questions = repeat.setup, repeat.questions
    if repeat.stopped.is_file():
        raise stopped_for_good(repeat, repeat.stopped.read_text())
    method, facts, kept = setup.method, setup.facts, setup.options.from_reports
    if not questions and kept is None:
        return Collected()
    repeat.tell("collect", None)
    if kept is not None:
        reports = Reports.load(kept)
        return Collected(questions=reports.questions(), decoded=reports)
    key, terms = setup.curator_key, None
    if key is not None:
        terms = key.sign(terms_of([(question.query, question.devices) for question in questions], facts.n))
    with open_grid(repeat, questions) as devices:
        send = partial(devices.ask, dropouts=repeat.plan.dropouts, terms=terms)
        if not isinstance(method, LocalMethod):
            collected = replace(send(questions), questions=questions)
        elif method.spec.in_batches or stages_of(questions) > 1:
            collected = ask_rounds(method, repeat.knowledge, setup.budget, questions, repeat.home, send)
        else:
            collected = replace(send(questions, facts=facts), questions=questions)
    collected.engine = devices.engine
    if repeat.state is not None:
        check_refused(repeat.home, collected.refused["LEDGER_DAMAGED"])
    if not collected.reported + collected.replayed:
        if collected.refused:
            repeat.end_collection()
        raise no_report(collected, simulated=repeat.state is not None)
    return collected


def open_grid(repeat: Repeat, questions: Sequence[Question] = ()) -> AbstractContextManager[Connection]:
    """Open the Grid of a repeat's devices; few ``questions`` may not be worth further processes."""
    options, devices = repeat.setup.options, repeat.setup.facts.n
    asked = number_of_recipients(questions, devices) or devices
    if repeat.connect is not None:
        return repeat.connect(repeat.home, devices, asked)
    return open_connection(
        repeat.home, devices, asked, engine=options.engine, workers=options.workers, ray_address=options.ray_address
    )


def stopped_for_good(repeat: Repeat, reason: str) -> RunFailed:
    """Return the error of a training in which too many parties failed: nobody is asked again."""
    return RunFailed(f"{repeat.setup.method.spec.name}: {reason}; a run with another --state, or another --out, "
                     "enrols others")  # fmt: skip


def no_report(collected: Collected, *, simulated: bool = True) -> Refused | RunFailed:
    """Return the error of a collection without a report; other devices can be enrolled where they are simulated."""
    if not collected.refused:
        return RunFailed(f"none of {collected.asked:,} devices answered")
    codes = ", ".join(f"{code} {count:,}" for code, count in sorted(collected.refused.items()))
    why = "; ".join(REASONS[code] for code in Refusal if code.name in collected.refused)
    if simulated and collected.refused["REPORT_COLLECTED"]:
        why += "; a run without --state, or with a new folder there, enrols other devices"
    return Refused(f"refused: none of {collected.asked:,} devices reported ({codes}): {why}")
