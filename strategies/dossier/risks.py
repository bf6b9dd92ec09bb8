"""Later sections of a dossier: risks, measures, what remains, who is served worse, and the decision."""

from __future__ import annotations

from collections.abc import Iterator

from curator.privacy.level import NOT_COUNTED
from curator.privacy.levels import LEVELS
from strategies.dossier.content import Blank, DossierTable, Line, LinePart, Section
from strategies.dossier.processing import CONTROLLER, OFFICER, given_away, line, model_or_none, rounds
from strategies.dossier.subject import BYTES, COUNT, LOSS, PLAN, SHARE, WORDS, Subject
from strategies.dossier.threats import threats_of
from strategies.group_accuracy.shown import NO_GROUPS, group_rows, words_of_groups
from strategies.results.in_words import PROTECTIONS, privacy_in_words
from strategies.results.numbers import NONE

UNPROTECTED = "not protected"


def _root(subject: Subject) -> str:
    return "holds" if subject.kind == PLAN else "privacy.holds"


def word_of(subject: Subject, level: str) -> str:
    """Return how well a level is hidden, in words: by the rule of a run's verdict where it has a bound.

    A level that is unprotected, in part or as a whole, is not protected, however well its private part is.
    """
    status = subject.holds[level]["status"]
    if status != "bounded":
        return UNPROTECTED if status == "unprotected" else str(status)
    measured = {"privacy": {"holds": subject.holds}, "reconstruction": subject.get("reconstruction") or {}}
    for found in privacy_in_words(measured):
        if level in found.levels:
            return found.word
    return ""  # an entry of a list: the relationship has the word


def levels(subject: Subject) -> DossierTable:
    """Return the table of what holds at each level."""
    rows = []
    for level, spec in LEVELS.items():
        at, entry = f"{_root(subject)}.{level}", subject.holds[level]
        status = subject.figure(f"{at}.status", WORDS, "theorem")
        bounded = entry["status"] == "bounded"
        loss: list[LinePart | None] = [subject.figure(f"{at}.value", LOSS, "theorem")] if bounded else [NONE]
        if bounded and entry["delta"]:
            loss += [", delta ", subject.figure(f"{at}.delta", WORDS, "theorem")]
        if not bounded and entry["private_value"] is not None:
            loss = ["the rest: ", subject.figure(f"{at}.private_value", LOSS, "theorem")]
        one = entry.get("of_one")
        guess: list[LinePart | None] = [subject.best_guess(at)] if bounded else [NONE]
        if bounded and one is not None:
            loss += ["; of one collection: ", subject.figure(f"{at}.of_one.value", LOSS, "theorem")]
            guess += ["; of one collection: ", subject.best_guess(f"{at}.of_one")]
        detail = subject.figure(f"{at}.detail", WORDS, "theorem") if entry["detail"] else NONE
        cells = ([f"{spec.words}: {spec.changes}"], [status], loss, guess, [word_of(subject, level)], [detail])
        rows.append(tuple(tuple(part or NONE for part in cell) for cell in cells))
    return DossierTable(
        "What holds when this changes",
        ("when this changes", "status", "loss (epsilon)", "best guess", "in words (one collection)", "reason"),
        tuple(rows),
        "Best guess: the chance, at most, that somebody who knows all else tells which of two equally likely values is "
        "true; 50 % is pure chance. It is the likelihood of a successful inference about one person.",
    )


def risks(subject: Subject) -> Section:
    """Return levels, threats and exposure."""
    threats = DossierTable(
        "Threats",
        ("who, or what", "covered by", "not covered", "source"),
        tuple(((each.attacker,), (each.covered or "nothing",), (each.open,), (", ".join(each.sources),))
              for each in threats_of(given_away(subject))),
    )  # fmt: skip
    blanks = (Blank("how severe a successful inference would be for a person", OFFICER),
              Blank("risks by accident or unlawful use that are not technical", CONTROLLER))  # fmt: skip
    return Section("3. Risks", (*_collections(subject), *_exposure(subject), *blanks), (levels(subject), threats))


def _collections(subject: Subject) -> Iterator[Line]:
    if subject.kind == PLAN:
        return
    yield line("claimed", subject.figure("privacy.claimed.statement", WORDS), ": ",
               subject.figure("privacy.claimed.value", LOSS),
               ". The table has what holds; only that is a guarantee")  # fmt: skip
    for place in range(len(subject.get("privacy.why_they_differ"))):
        yield line("why they differ", subject.figure(f"privacy.why_they_differ.{place}", WORDS))
    yield line("collections", subject.figure("privacy.collections", COUNT), " of the same people count in the losses; ",
               subject.figure("privacy.searched", COUNT), " of a search for settings do not")  # fmt: skip
    if subject.get("reconstruction.edge_precision") is not None:
        yield line("edges that the curator finds", subject.figure("reconstruction.edge_recall", SHARE),
                   " of the true ones, with a precision of ", subject.figure("reconstruction.edge_precision", SHARE),
                   ": a measured attack")  # fmt: skip


def _exposure(subject: Subject) -> Iterator[Line]:
    root = "bytes" if subject.kind == PLAN else "communication"
    down, up = ("down", "up") if subject.kind == PLAN else ("downlink_bytes_per_device", "uplink_bytes_per_device")
    yield line("exposure at collection", "names of the devices, times and sizes of messages are not hidden: ",
               subject.figure(f"{root}.{down}", BYTES), " to and ", subject.figure(f"{root}.{up}", BYTES),
               " from a device in ", *rounds(subject),
               sources=("docs/threats.md",))  # fmt: skip


def measures(subject: Subject) -> Section:
    """Return what protects people, and what the controller adds."""
    model = model_or_none(subject.method)
    lines = [line("in the program", each) for each in (() if model is None else model.implementation)]
    lines += _ON_DEVICES if model is not None else [line("in the program", "none: this method is a reference")]
    if subject.kind != PLAN:
        lines.append(line("defences against lies in this run", subject.figure("config.defence", WORDS)))
    blanks = (
        Blank("vault, counter, TLS and node authentication: which are on", CONTROLLER),
        Blank("access control, staff, audits", CONTROLLER),
        Blank("information of the people, and how they object", CONTROLLER),
    )
    return Section("4. Measures", (*lines, *blanks))


_ON_DEVICES = [
    line(
        "policy and ledger",
        "a device answers within the losses that its person allowed, and writes each answer down before it leaves",
        sources=("tests/devices/test_device.py::test_the_policy_is_asked_before_data_are_touched",),
    ),
    line(
        "signed questions",
        "a device that pins its collector answers only what that key signed; trainings in rounds are not signed",
        sources=("tests/devices/test_collector.py::test_only_the_right_collector_spends_the_answer",),
    ),
]


def not_protected(subject: Subject) -> tuple[str, ...]:
    """Return all that is unprotected, hardly hidden or left out of a figure, in words."""
    weak = {each.word for each in PROTECTIONS if each.tone == "bad"} | {"not hidden", UNPROTECTED}
    said: dict[str, list[str]] = {}
    for level, spec in LEVELS.items():
        if (word := word_of(subject, level)) in weak:
            said.setdefault(word, []).append(spec.term)
    left_out = dict.fromkeys(name for level in LEVELS for name in subject.holds[level]["not_counted"])
    return (*(f"{', '.join(subjects)}: {word}" for word, subjects in said.items()),
            *(NOT_COUNTED[name] for name in left_out if name in NOT_COUNTED))  # fmt: skip


def residual(subject: Subject) -> Section:
    """Return what remains after the measures."""
    left = [line("not protected, or hardly", each) for each in not_protected(subject)]
    lines = [
        *(left or [line("not protected, or hardly", "no level of the table")]),
        line("by nature", "a report that was sent stays sent. A loss adds to those of other collections about the same "
             "people", sources=("docs/threats.md",)),
    ]  # fmt: skip
    if subject.get("simulation_seeded"):
        lines.append(line("this simulation", "its noise came from a seed, so its own reports are not private",
                          sources=(f"run: {subject.file}, simulation_seeded",)))  # fmt: skip
    blanks = (
        Blank(
            "residual risk: accepted, reduced further, or a reason to consult the authority (Art. 36 GDPR)", CONTROLLER
        ),
    )
    return Section("5. What remains", (*lines, *blanks))


def served(subject: Subject) -> Section:
    """Return accuracy by groups of people."""
    rows = () if subject.kind == PLAN else tuple(group_rows(subject.document))
    said = words_of_groups(rows)
    judged = any(row.worse is not None for row in rows)
    if not rows:
        note = (
            "A plan has no accuracy by groups: ldpsim run gives it."
            if subject.kind == PLAN
            else f"There is {NO_GROUPS}."
        )
    elif said:
        note = f"{said[:1].upper()}{said[1:]}."
    else:
        note = "No group loses measurably more to the noise than everybody does." if judged else \
            "Whether noise costs a group more is not known: no model without noise was trained."  # fmt: skip
    blank = Blank("whether a group that is served worse needs another answer", CONTROLLER)
    return Section("6. Who is served worse", (blank,), (), note, rows)


def decision() -> Section:
    """Return the fields of advice and decision."""
    return Section("7. Advice and decision", (
        Blank("advice of the data protection officer, with date", OFFICER),
        Blank("views of the people concerned, or why they were not asked", CONTROLLER),
        Blank("decision, name, date, signature", CONTROLLER),
        Blank("date of the next review", CONTROLLER),
    ))  # fmt: skip
