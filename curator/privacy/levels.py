"""Levels of guarantee: the one list of what may change between two neighbouring inputs.

A new level is one more entry of :data:`LEVELS`. Its attribute and unit say how its loss is
computed (:mod:`ldpsim.curator.privacy.guarantee`), which answers of a method the audit compares
(:mod:`ldpsim.curator.attacks.method_audit`) and whether a device's own ledger shows it. Tables,
pages and summaries read the words from here. A new *unit* needs a rule in both modules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

Attribute = Literal["adjacency", "features", "label"]
Unit = Literal["entry", "edge", "whole", "record", "node", "owned"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class LevelSpec:
    """One level of guarantee.

    Args:
        attribute: Attribute that changes, None for more than one.
        unit: Part that changes: one ``entry`` of the attribute, one ``edge`` (the entry in both
            ends' lists), the ``whole`` attribute, a person's own ``record``, a ``node`` (the
            record, and the bits of others about it), or a person in ``owned`` data.
        changes: A sentence that completes "when ...".
        term: The one name of the level that people read: in tables, sentences, pages and pictures.
        meaning: What the term leaves open, in a few words; may be empty.
        compared: Name under which results are compared. Levels that share it count as one
            level: the worst of them.
        rank: Place among the columns of a comparison with little room, None to leave it out.
        spoken: Whether sentences about what is hidden name it; an entry of a list is left to the friendship.
    """

    attribute: Attribute | None
    unit: Unit
    changes: str
    term: str
    meaning: str
    compared: str
    rank: int | None = None
    spoken: bool = True

    @property
    def words(self) -> str:
        """Term and meaning, for a summary of 80 columns."""
        return f"{self.term}: {self.meaning}" if self.meaning else self.term

    @property
    def in_ledger(self) -> bool:
        """True if a device's own releases determine its loss."""
        return self.unit in ("entry", "whole", "record")


LEVELS: dict[str, LevelSpec] = {
    "bit_adjacency": LevelSpec(
        "adjacency", "entry", "one entry of a person's neighbour list changes", "a list entry", "", "bit",
        5, spoken=False,
    ),
    "bit_feature": LevelSpec(
        "features", "entry", "one feature of a person changes", "a feature", "", "bit", 5,
    ),
    "relationship": LevelSpec(
        "adjacency", "edge", "one edge changes, in the lists of both its ends", "a friendship",
        "an edge, at both ends", "relationship", 2,
    ),
    "vector": LevelSpec("features", "whole", "all features of a person change", "all features", "", "vector", 3),
    "label": LevelSpec("label", "whole", "the label of a person changes", "a person's label", "", "label"),
    "user": LevelSpec(
        None, "record", "everything that a person holds changes: list, features, private label", "a person",
        "all that a person reports", "user", 1,
    ),
    "node": LevelSpec(
        None, "node", "a person's record changes, and what others report of the person",
        "a person as others report it", "", "node",
    ),
    "central_node": LevelSpec(
        None, "owned", "a person joins or leaves data that a trusted curator holds in clear, or is replaced there",
        "a person in owned data", "", "central_node", 4,
    ),
}  # fmt: skip

PUBLIC_PARTS = {"adjacency": "list", "features": "feature vector"}  # parts of a record that may be public

# Headings and sentences of levels that comparisons show as one.
MERGED = {"bit": ("a bit", "one list entry or one feature of a person changes")}


def level_spec(name: str) -> LevelSpec:
    """Return the level of this name.

    Raises:
        ValueError: for an unknown name.

    >>> level_spec("relationship").unit
    'edge'
    """
    if name not in LEVELS:
        raise ValueError(f"{name}: there is no such level of guarantee (known: {', '.join(LEVELS)})")
    return LEVELS[name]


def compared_levels() -> dict[str, tuple[str, ...]]:
    """Return the levels of guarantee that each compared level consists of, by its name."""
    parts: dict[str, tuple[str, ...]] = {}
    for name, spec in LEVELS.items():
        parts[spec.compared] = (*parts.get(spec.compared, ()), name)
    return parts


def parts_of(level: str) -> tuple[str, ...]:
    """Return the levels of guarantee of which a compared level consists; one of them consists of itself.

    Raises:
        ValueError: for an unknown level.
    """
    compared = compared_levels()
    if level not in compared and level not in LEVELS:
        raise ValueError(f"{level}: results are not compared at this level (known: {', '.join(compared)})")
    return compared.get(level, (level,))


def level_term(level: str) -> str:
    """Return the name of a level, compared or one of its parts, as people read it.

    >>> level_term("bit"), level_term("bit_feature"), level_term("node")
    ('a bit', 'a feature', 'a person as others report it')
    """
    return MERGED[level][0] if level in MERGED else LEVELS[parts_of(level)[0]].term


def level_words() -> dict[str, str]:
    """Return the word of each level on the command line, with the name under which a result stores it.

    >>> [word for word, name in level_words().items() if name in ("relationship", "user", "bit_feature", "vector")]
    ['friendship', 'person', 'feature', 'all-features']
    """
    names = dict.fromkeys(["relationship", "user", "bit_feature", "label", *compared_levels(), *LEVELS])  # often wanted
    return {_word(level_term(name)).replace(" ", "-"): name for name in names}


def level_named(text: str, option: str = "--match") -> str:
    """Return the stored name of a level: of its word, of the term that people read, or of that name itself.

    Raises:
        ValueError: for another text.

    >>> level_named("person"), level_named("a friendship"), level_named("relationship"), level_named("all features")
    ('user', 'relationship', 'relationship', 'vector')
    """
    words = level_words()
    word = _word(text.strip().lower().replace("_", "-"))
    stored = word.replace("-", "_").replace(" ", "_")
    name = words.get(word.replace(" ", "-"), stored)
    if name not in words.values():
        raise ValueError(f"{option} {text}: the level must be one of {', '.join(words)}")
    return name


def level_word(level: str) -> str:
    """Return the word of a level on the command line.

    >>> level_word("user"), level_word("central_node")
    ('person', 'person-in-owned-data')
    """
    return next(word for word, name in level_words().items() if name == level)


def _word(term: str) -> str:
    """Return a term without the words before it: a, one, person's."""
    return re.sub(r"^(?:(?:a|an|one|person's)[ -])+", "", term)


def by_attribute(of: Mapping[str, Value], *, several: Value, owned: Value) -> dict[str, Value]:
    """Return a value for each level.

    Args:
        of: Attribute -> value of the levels about it.
        several: Value of the levels about more than one attribute.
        owned: Value of the levels about data that a curator owns.
    """
    values = {}
    for name, spec in LEVELS.items():
        rest = owned if spec.unit == "owned" else several
        values[name] = rest if spec.attribute is None else of[spec.attribute]
    return values
