"""Row of the page from a result.json.

A result is an untrusted file: the type of every field is checked here, so that later code can
rely on it. Its texts are not trusted (templates escape them).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ldpsim.strategies.group_accuracy.shown import GroupRow, group_rows
from ldpsim.strategies.outputs.sums import levels_of, of_repeats, really_asked
from ldpsim.strategies.outputs.untrusted import number, text
from ldpsim.strategies.results.in_words import NOT_ASKED, NOT_HIDDEN, privacy_in_words
from ldpsim.strategies.results.levels import held, shown_levels
from ldpsim.strategies.results.shown_nulls import ask_nobody, best_null, shown_nulls_of, shown_verdict

TRUST = {
    "untrusted curator": ("reports", "reports only, nobody is trusted"),
    "trusted curator": ("owner", "a curator is trusted with what devices send"),
    "none": ("open", "no protection: a reference on raw data"),
}


class UnreadableRecord(ValueError):
    """Record that is not a result; the text is one line that names the field."""


def row_of(record: Any, folder: str) -> dict[str, Any]:
    """Return the flat row of a record; all but ``groups`` is JSON-ready.

    Args:
        record: Content of a result.json, schema 1.
        folder: Name of its folder, for display.

    Raises:
        UnreadableRecord: for a field that is missing or of the wrong type.
    """
    get = _Reader(record)
    trust = get.text("privacy.trust")
    if trust not in TRUST:
        raise UnreadableRecord(f"privacy.trust: {trust!r} is none of {', '.join(TRUST)}")
    tests = [number(value) for value in get.sequence("accuracy.per_repeat")]
    repeats = max(len(tests), 1)
    down = get.number("communication.downlink_bytes_per_device")
    up = get.number("communication.uplink_bytes_per_device")
    phases = {name: (get.maybe(f"seconds.{name}") or 0.0) / repeats for name in ("collect", "reconstruct", "train")}
    return {
        "folder": text(folder),
        "method": get.text("method"),
        "gnn": get.text("gnn"),
        "trust": TRUST[trust][0],
        "test": get.number("accuracy.test"),
        "tests": tests if tests and None not in tests else [get.number("accuracy.test")],
        **{name: get.maybe(f"accuracy.{name}") for name in ("std", "val", "macro_f1")},
        "nonprivate": get.maybe("reference.nonprivate_test"),
        **_nulls(record),
        "repeats": repeats,
        "groups": _groups(record),
        "claimed": {"statement": get.text("privacy.claimed.statement", empty="nothing"),
                    "value": get.maybe("privacy.claimed.value")},
        "levels": {level: _held(get, level) for level in shown_levels()},
        "why": [text(reason) for reason in get.sequence("privacy.why_they_differ")],
        "collections": int(get.number("privacy.collections")),
        "repeated": _repeated(record),
        "asked": int(get.number("devices.asked")),
        "down": down,
        "up": up,
        "bytes": down + up,
        "silo": _silo_bytes(get.optional("federated.per_silo")),
        "rounds": int(get.number("communication.rounds")),
        "seconds": {**phases, "total": sum(phases.values())},
        "edges": {"precision": get.maybe("reconstruction.edge_precision"),
                  "recall": get.maybe("reconstruction.edge_recall"),
                  "kept": get.maybe("reconstruction.edges")},
        "degrees": _degrees(get.optional("reconstruction.degrees")),
        "seed": get.maybe("config.seed"),
        "seeded": get.optional("simulation_seeded") is True,
        "version": get.text("ldpsim_version"),
        "scored": _scored(get, record),
        "in_words": privacy_words(record),
    }  # fmt: skip


def _groups(record: Mapping[str, Any]) -> list[GroupRow]:
    try:
        return group_rows(record)
    except ValueError as error:
        raise UnreadableRecord(str(error)) from None


def privacy_words(record: Mapping[str, Any]) -> str:
    """Return the privacy of a result in one line of words; empty if the record does not have all that it takes.

    Reasons are left out but for what was found; what was not asked is left out too.
    """
    try:
        findings = [found for found in privacy_in_words(record) if found.word != NOT_ASKED]
    except (KeyError, TypeError, AttributeError, ValueError):
        return ""
    said = [f"{found.subject}: {found.word}{f' ({found.detail})' if found.word == NOT_HIDDEN else ''}"
            for found in findings]  # fmt: skip
    return text("; ".join(said))


def _repeated(record: Mapping[str, Any]) -> str:
    """Return the sentence about the repeats of a run; empty for one collection."""
    try:
        levels_of(record), really_asked(record)  # the sums over several results read them
        asked = of_repeats(record)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise UnreadableRecord("privacy.holds, devices or seeds cannot be read") from None
    return "" if asked is None else text(asked.text)


def people_of(record: Any) -> dict[str, Any]:
    """Return the population of a record; ``digest`` identifies it.

    Raises:
        UnreadableRecord: as :func:`row_of`.
    """
    get = _Reader(record)
    sizes = {name: int(get.number(f"dataset.{name}")) for name in ("nodes", "edges", "features", "classes")}
    return {"name": get.text("dataset.name"), "digest": get.text("dataset.digest"), **sizes,
            "homophily": get.maybe("dataset.homophily")}  # fmt: skip


class _Reader:
    """Fields of a record by their path, checked."""

    def __init__(self, record: Any) -> None:
        if not isinstance(record, Mapping):
            raise UnreadableRecord("not a JSON object")
        self._record = record

    def optional(self, path: str) -> Any:
        """Return the value, None if it is missing."""
        found: Any = self._record
        for name in path.split("."):
            if not isinstance(found, Mapping) or name not in found:
                return None
            found = found[name]
        return found

    def text(self, path: str, *, empty: str | None = None) -> str:
        found = self.optional(path)
        if isinstance(found, str) and found.strip():
            return text(found)
        if empty is not None and found in (None, ""):
            return empty
        raise UnreadableRecord(f"{path} is missing or no text")

    def number(self, path: str) -> float:
        found = number(self.optional(path))
        if found is None or found < 0:
            raise UnreadableRecord(f"{path} is missing or no number of 0 or more")
        return found

    def maybe(self, path: str) -> float | None:
        return number(self.optional(path))

    def sequence(self, path: str) -> Sequence[Any]:
        found = self.optional(path)
        if not isinstance(found, list):
            raise UnreadableRecord(f"{path} is missing or no list")
        return found


def _held(get: _Reader, level: str) -> dict[str, Any]:
    holds = get.optional("privacy.holds")
    try:
        found = held(holds, level)
    except (KeyError, TypeError, AttributeError):
        raise UnreadableRecord(f"privacy.holds says nothing that can be read about the level {level}") from None
    except ValueError as error:
        raise UnreadableRecord(str(error)) from None
    return {**found, "detail": text(found["detail"])}


def _nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return null models and verdict; those of a result without them are empty."""
    try:
        nulls = {name: {part: number(value) for part, value in entry.items()}
                 for name, entry in shown_nulls_of(record).items()}  # fmt: skip
        found = shown_verdict(record)
        margin = _interval(found and found["margin"])
        over = {name: _interval(each) for name, each in (found["over"] if found else {}).items()}
        tail = found and number(found["tail"])
    except (KeyError, TypeError, AttributeError):
        raise UnreadableRecord("nulls or verdict cannot be read") from None
    shown = [each for each in (margin, *over.values()) if each]
    if any(entry["test"] is None for entry in nulls.values()) or any(None in each.values() for each in shown):
        raise UnreadableRecord("nulls or verdict has a figure that is no number")
    said = found and {"text": text(found["text"]), "standing": found["standing"], "margin": margin, "over": over,
                      "interval_of": text(found["interval_of"] or ""),
                      "tail": tail if tail and 0 < tail < 1 else None}  # fmt: skip
    try:
        free = ask_nobody(record)
    except (KeyError, TypeError, AttributeError):
        raise UnreadableRecord("privacy.holds or devices cannot be read") from None
    return {"nulls": nulls, "best_null": best_null(nulls), "ask_nobody": free, "free": best_of(nulls, free),
            "verdict": said}  # fmt: skip


def _interval(found: Any) -> dict[str, float | None] | None:
    return found and {part: number(found[part]) for part in ("value", "low", "high")}


def best_of(nulls: Mapping[str, Mapping[str, Any]], names: Collection[str]) -> str | None:
    """Return the best one of these null models that are there, None without any."""
    return best_null({name: nulls[name] for name in names if name in nulls})


def _silo_bytes(phases: Any) -> float | None:
    """Return the bytes that one silo and its server exchange, None without silos."""
    if not isinstance(phases, Mapping) or not phases:
        return None
    counts = [phase.get(f"{way}link_bytes") if isinstance(phase, Mapping) else None
              for phase in phases.values() for way in ("down", "up")]  # fmt: skip
    known = [number(count) for count in counts]
    return None if any(count is None or count < 0 for count in known) else sum(count or 0.0 for count in known)


def _degrees(found: Any) -> dict[str, Any] | None:
    """Return a degree distribution, None if it is missing or invalid."""
    if not isinstance(found, Mapping):
        return None
    columns: dict[str, Any] = {}
    for name in ("from", "true", "noisy", "reconstructed"):
        given = found.get(name)
        if given is None and name == "noisy":
            columns[name] = None
            continue
        if not isinstance(given, list) or not 0 < len(given) <= 1000:
            return None
        values = [number(value) for value in given]
        if any(value is None or value < 0 for value in values):
            return None
        columns[name] = values
    counts = [columns[name] for name in ("true", "noisy", "reconstructed") if columns[name] is not None]
    rising = all(a < b for a, b in zip(columns["from"], columns["from"][1:], strict=False))
    if not rising or any(len(values) != len(columns["from"]) or not sum(values) for values in counts):
        return None
    return columns


def _scored(get: _Reader, record: Mapping[str, Any]) -> str:
    """Return a key of the scored people; equal keys mean that scores can be compared."""
    digests = get.optional("dataset.scored_sha256")
    if isinstance(digests, list) and digests:
        return text(digests[0])
    parts = (get.optional("dataset.split.test"), get.optional("seeds.split"), get.optional("config.split"))
    return text("/".join(map(str, parts)))
