"""Asking the devices of a repeat, once: stages, batches, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.device import Refusal
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.wire import REASONS
from ldpsim.strategies.engines.collect import Connection, open_connection
from ldpsim.strategies.rounds.batches import ask_in_batches, read_reports
from ldpsim.strategies.rounds.collect_once import Collected, Stages, at_stage, stages_of
from ldpsim.strategies.runs.errors import Refused, RunFailed
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.disk_space import check_refused


def ask(repeat: Repeat) -> Collected:
    """Ask the devices of a repeat its questions, or those that its method makes of public knowledge, in batches.

    Returns:
        The result of the collection, with the questions as they were asked at the last stage, of all batches. A curator
        has the decoded reports, or those of ``--from-reports``; an owner has the records' bytes. Nobody is asked where
        the plan has no question.

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
    last, decoded = stages_of(questions) - 1, method.spec.trained_by == "curator"
    stages = Stages(method, facts, repeat.home) if last else None
    key, terms = setup.curator_key, None
    if key is not None:
        terms = key.sign(terms_of([(question.query, question.devices) for question in questions], facts.n))
    with open_grid(repeat, questions) as devices:
        if method.spec.in_batches:  # the next batch's question is made of the bytes so far
            questions, collected = ask_in_batches(
                method, repeat.knowledge, setup.budget, questions, repeat.home,
                lambda batch: devices.ask(batch, silent=repeat.plan.silent, stages=stages, terms=terms),
            )  # fmt: skip
        else:
            collected = devices.ask(questions, silent=repeat.plan.silent, stages=stages, terms=terms,
                                    facts=facts if decoded else None)  # fmt: skip
    if repeat.state is not None:
        check_refused(repeat.home, collected.refused["LEDGER_DAMAGED"])
    if not collected.reported + collected.replayed:
        if collected.refused:
            repeat.end_collection()
        raise no_report(collected, simulated=repeat.state is not None)
    collected.questions, collected.engine = at_stage(questions, last, collected.grouping), devices.engine
    if decoded and collected.decoded is None:
        collected.decoded = read_reports(facts, collected.questions, collected)
        collected.answers.clear()
    return collected


def open_grid(repeat: Repeat, questions: Sequence[Question] = ()) -> AbstractContextManager[Connection]:
    """Open the Grid of a repeat's devices; few ``questions`` may not be worth further processes."""
    options, devices = repeat.setup.options, repeat.setup.facts.n
    asked = sum(devices if question.devices is None else len(question.devices) for question in questions) or devices
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
