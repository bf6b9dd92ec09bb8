"""First sections of a dossier: the sheet, what is processed, and whether it is necessary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from curator.methods.base import Method
from strategies.dossier.content import Basis, Blank, DossierTable, Line, LinePart, Section, SourcedFigure
from strategies.dossier.subject import BYTES, COMPARED, COUNT, LOSS, PLAN, POINTS, SHARE, WORDS, Subject
from strategies.dossier.threats import CLEAR, OWNED, REPORTS, UPDATES
from strategies.outputs.registry_models import DeploymentModel, model_of
from strategies.planning.listed import listed_as
from strategies.planning.registry import finished
from strategies.results.numbers import NONE
from strategies.results.shown_nulls import NULLS, asking_nobody, shown_verdict

CONTROLLER, OFFICER, PROCESSOR = "the controller", "the data protection officer", "the controller and its processors"
_SUBJECTS = {"relationship": "lists of neighbours", "vector": "features", "label": "label"}
_IN_CLEAR_FOR = {"untrusted curator": "in clear, or public", "trusted curator": "handed over in clear",
                 "none": "in clear: nobody protects it"}  # fmt: skip


def given_away(subject: Subject) -> str:
    """Return what devices give away: reports, updates, owned records, or data in clear."""
    kind = subject.method
    if kind.trust == "none":
        return CLEAR
    if kind.trained_by == "curator":
        return REPORTS
    return UPDATES if kind.trained_by == "devices" else OWNED


def model_or_none(kind: type[Method]) -> DeploymentModel | None:
    """Return the words about the way in which a method collects; None for one that protects nothing."""
    try:
        return model_of(kind)
    except ValueError:
        return None


def line(label: str, *parts: LinePart | None, sources: tuple[str, ...] = ()) -> Line:
    """Return a line; a figure that is not known is a dash."""
    return Line(label, tuple(NONE if part is None else part for part in parts), sources)


def sheet(subject: Subject) -> Section:
    """Return what the dossier is about, and who decides."""
    kind = subject.method
    described = {PLAN: "a plan: nobody was asked", COMPARED: "one method of a comparison, on simulated devices"}
    said = described.get(subject.kind, "a run on simulated devices")
    labels = subject.get("settings.private_labels" if subject.kind == PLAN else "config.budget.private_labels")
    asks = listed_as(kind.name, volunteers=_volunteers(subject), labels=bool(labels)).asks
    lines: list[Line | Blank] = [
        line("what is described", f"{said}; ldpsim made these figures, and no real device answered"),
        line("method", subject.figure("method", WORDS), f": asks {asks}. Published in: {kind.paper or 'no paper'}"),
    ]
    if subject.kind == PLAN:
        lines.append(line("people", subject.figure("facts.n", COUNT, whole=True), " people are planned for"))
    else:
        lines.append(line("people", subject.figure("dataset.nodes", COUNT), " people of the data set ",
                          subject.figure("dataset.name", WORDS)))  # fmt: skip
        lines.append(line("version", "ldpsim ", subject.figure("ldpsim_version", WORDS), ", configuration ",
                          subject.figure("config_hash", WORDS)))  # fmt: skip
    blanks = (
        Blank("controller, joint controllers, processors", CONTROLLER),
        Blank("planned start, and date of this text", CONTROLLER),
        Blank("reasons why an assessment is due (Art. 35(3) GDPR)", OFFICER),
    )
    return Section("0. Sheet", (*lines, *blanks))


def _volunteers(subject: Subject) -> bool:
    return subject.get("settings.volunteers" if subject.kind == PLAN else "config.volunteers") is not None


def processed(subject: Subject) -> Section:
    """Return the data by attribute, and what is done with them by phase."""
    kind, model = subject.method, model_or_none(subject.method)
    return Section(
        "1. What is processed",
        (*_data(subject), *_phases(subject, kind, model),
         Blank("purposes, and uses of the model that are not planned today", CONTROLLER),
         Blank("context: who the people are, and what they expect", CONTROLLER),
         Blank("special categories of data among features, labels and lists", OFFICER)),
    )  # fmt: skip


def _data(subject: Subject) -> Iterator[Line]:
    root = "holds" if subject.kind == PLAN else "privacy.holds"
    for level, label in _SUBJECTS.items():
        status = subject.figure(f"{root}.{level}.status", WORDS, "theorem")
        entry = subject.holds[level]
        said = {
            "bounded": "asked under noise",
            "not asked": "not asked, and not public",
            "unprotected": _IN_CLEAR_FOR[subject.method.trust],
        }.get(entry["status"], "")
        detail = subject.figure(f"{root}.{level}.detail", WORDS, "theorem") if entry["detail"] else None
        yield line(label, f"{said} (", status, *((": ", detail) if detail else ()), ")")
    if _volunteers(subject):
        yield line("label and features of volunteers", "in clear, by consent; volunteers answer nothing else")
    names = subject.get("mechanisms") if subject.kind == PLAN else finished(subject.document).mechanisms
    yield line("mechanisms", "; ".join(map(str, names)) if names else "none is used, or not noted in this file",
               sources=("docs/guarantees.md",))  # fmt: skip


_STORAGE = (
    "each device keeps its record, its secret and a ledger of its answers in its own folder; the collector keeps what "
    "devices sent only if it is told to"
)


def _phases(subject: Subject, kind: type[Method], model: DeploymentModel | None) -> Iterator[Line | Blank]:
    plan = subject.kind == PLAN
    if plan:
        yield line("collection", *rounds(subject), "; ", subject.figure("bytes_per_device", BYTES), " a device")
    else:
        yield line("collection", subject.figure("devices.asked", COUNT), " devices were asked, ",
                   subject.figure("devices.reported", COUNT), " answered; ",
                   *rounds(subject))  # fmt: skip
    if model is not None:
        yield line("who does what", model.actors)
        yield line("use", model.post_processing)
        yield line("how often", model.releases)
    else:
        yield line("use", "a network is trained on the true data, as a reference")
    yield line("storage", _STORAGE, sources=("docs/deployment.md",))
    yield line("sharing", "no part of ldpsim sends data anywhere else",
               sources=("docs/connections.md", "tests/strategies/engines/test_outgoing_connections.py"))  # fmt: skip
    yield Blank("recipients of the model and of the reports, transfers", CONTROLLER)
    yield line("deletion", "a report that was sent cannot be taken back from who has it", sources=("docs/threats.md",))
    yield Blank("how long reports, model and logs are kept", CONTROLLER)


def rounds(subject: Subject) -> tuple[LinePart | None, ...]:
    """Return the number of rounds; a plan has none where earlier answers make the later questions."""
    found = subject.figure("bytes.rounds" if subject.kind == PLAN else "communication.rounds", COUNT)
    return ("several rounds",) if found is None else (found, " round(s)")


def necessity(subject: Subject) -> Section:
    """Return what asking gains, and which other methods reach the same."""
    lines = [*(_planned_worth(subject) if subject.kind == PLAN else _measured_worth(subject))]
    grids = (_others(subject),) if subject.others else ()
    blanks = (Blank("legal basis", OFFICER), Blank("why the purpose needs this accuracy, and these people", CONTROLLER),
              Blank("accuracy of the records themselves; rights of the people", CONTROLLER))  # fmt: skip
    note = "Asking is proportionate only if it gives measurably more than asking nobody." + (
        "" if grids else " Other methods were not compared here: ldpsim compare and ldpsim plan do that.")  # fmt: skip
    return Section("2. Why it is needed", (*lines, *blanks), grids, note)


def _planned_worth(subject: Subject) -> Iterator[Line]:
    if subject.get("worth") is None:
        yield line("accuracy", "not rehearsed: this plan does not say what asking gives")
        return
    yield line("accuracy of a rehearsal", subject.figure("worth.test", SHARE))
    yield line("asking nobody gives", subject.figure("worth.asking_nobody.test", SHARE))
    yield line("difference", *_interval(subject, "worth.asking_nobody.over"))
    yield line("whose accuracy it is", subject.figure("rehearsal.words", WORDS, whole=True))
    for place in range(len(subject.document.get("lacks") or ())):
        yield line("to be trusted it needs", subject.figure(f"lacks.{place}", WORDS, whole=True))


def _measured_worth(subject: Subject) -> Iterator[Line]:
    record = subject.document
    if record.get("links"):
        yield line("AUC of links", subject.figure("links.test.auc", SHARE))
    else:
        yield line("accuracy", subject.figure("accuracy.test", SHARE))
        yield line("without noise", subject.figure("reference.nonprivate_test", SHARE))
    free, verdict = asking_nobody(record), shown_verdict(record)
    if verdict is None:
        yield line("asking nobody gives", "not known: the run took no null models (--no-nulls)")
        return
    where = "links.nulls" if record.get("links") else "nulls"
    if free is not None:
        place = f"{where}.shuffled.{free.removeprefix('shuffled_')}.test" if free.startswith("shuffled_") else \
            f"{where}.{free}.test"  # fmt: skip
        yield line("asking nobody gives", subject.figure(place, SHARE), f" ({NULLS[free].heading})")
    best = f" ({NULLS[verdict['best_null']].heading})" if verdict["best_null"] else ""
    yield line("over the best simpler model", *_interval(subject, "verdict.margin"), best)
    for attribute in record["verdict"].get("bought") or {}:
        yield line(f"gained by private {attribute}", *_interval(subject, f"verdict.bought.{attribute}"))
    yield line("verdict", subject.figure("verdict.text", WORDS))


def _interval(subject: Subject, path: str) -> tuple[LinePart | None, ...]:
    """Return a difference of shares with its interval, in points."""
    ends = [subject.figure(f"{path}.{part}", POINTS) for part in ("value", "low", "high")]
    if None in ends:
        return ("no interval",)
    return (ends[0], " (", ends[1], " to ", ends[2], ") points, 95 % interval")


def _others(subject: Subject) -> DossierTable:
    """Return this method and the other ones: accuracy, losses and bytes, and which are cheaper and no worse."""
    columns = _PLANNED if subject.kind == PLAN else _MEASURED
    found = [
        (subject.at(file, f"{root}{_NAME[subject.kind == PLAN]}", WORDS),
         [subject.at(file, f"{root}{path}", form, basis) for path, form, basis in columns])
        for file, root in ((subject.file, subject.root), *subject.others)
    ]  # fmt: skip
    own = found[0][1]
    rows = [
        ((name or NONE,), *((each or NONE,) for each in figures), (_cheaper(figures, own) if place else "this method",))
        for place, (name, figures) in enumerate(found)
    ]
    return DossierTable(
        "Other methods for the same people",
        (
            "method",
            "accuracy",
            "loss of a person",
            "loss of a relationship",
            "bytes down",
            "bytes up",
            "cheaper and no worse",
        ),
        tuple(rows),
        "A loss without a bound is a dash. Cheaper and no worse: in these figures at least as accurate, with neither a "
        "larger loss of a person nor more bytes both ways, and less of one of them. That compares figures; it is no "
        "test.",
    )


_NAME = ("method", "name")  # of a result, of a plan's row
_Column = tuple[str, str, Basis | None]
_PLANNED: tuple[_Column, ...] = (
    ("worth.test", SHARE, None), ("holds.user.value", LOSS, "theorem"),
    ("holds.relationship.value", LOSS, "theorem"), ("bytes.down", BYTES, None), ("bytes.up", BYTES, None),
)  # fmt: skip
_MEASURED: tuple[_Column, ...] = (
    ("accuracy.test", SHARE, None), ("privacy.holds.user.value", LOSS, "theorem"),
    ("privacy.holds.relationship.value", LOSS, "theorem"),
    ("communication.downlink_bytes_per_device", BYTES, None), ("communication.uplink_bytes_per_device", BYTES, None),
)  # fmt: skip


def _cheaper(other: Sequence[SourcedFigure | None], own: Sequence[SourcedFigure | None]) -> str:
    """Return whether another method is at least as accurate and costs less; a dash where that is not known."""
    known = [each.value for each in (*other[:2], *other[3:], own[0], *own[3:]) if each is not None]
    if len(known) < 7:
        return NONE
    test, loss, down, up, own_test, own_down, own_up = known
    sent, own_sent = down + up, own_down + own_up
    own_loss = math.inf if own[1] is None else own[1].value
    no_worse = test >= own_test and loss <= own_loss and sent <= own_sent
    return "yes" if no_worse and (loss < own_loss or sent < own_sent) else "no"
