"""One level of a guarantee: its figures as fields, and the text that is made of them.

A program reads the fields. :attr:`Level.detail` is for people, and nothing reads it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ldpsim.curator.privacy.levels import PUBLIC_PARTS

Status = Literal["bounded", "unprotected", "not asked"]
Kind = Literal["exact", "bound"]
JOINS, REPLACED = "a person joins or leaves", "a person is replaced by another"  # neighbouring data of an owner
REPORTED_BY_OTHERS, LABEL, VOLUNTEERS = "told", "label", "volunteers"

_COUNTED = {**PUBLIC_PARTS, "label": "label", REPORTED_BY_OTHERS: "the bits that others report about it"}
_PUBLIC = {"adjacency": "edges", "features": "features", "label": "labels of training and validation nodes"}
NOT_COUNTED = {  # in words, by the names of a level's ``not_counted``
    LABEL: "the label is public in this setting and not counted",
    VOLUNTEERS: "what volunteers give in clear is not counted",
}


@dataclass(frozen=True)
class OfOne:
    """Loss of one collection, where a figure is about several.

    Args:
        value, delta: Its loss.
        of: Number of collections.
    """

    value: float
    delta: float
    of: int


@dataclass(frozen=True)
class Level:
    """Guarantee at one level.

    Args:
        status: ``bounded``, ``unprotected`` (in clear) or ``not asked``.
        value: Loss; None unless the status is ``bounded``.
        delta: Delta at which it holds.
        kind: ``exact`` if some input attains the loss, else ``bound``; None without a loss. A loss without a kind
            is a ``bound``.
        counted: What changes and is counted: ``adjacency``, ``features``, ``label``, ``told`` (the bits of others).
        public: Attributes that are public in this setting; they make the level unprotected.
        not_counted: What is public and left out of the level: ``label``, or what ``volunteers`` give.
        private_value, private_delta: Loss of the rest of the record, where a part is public.
        own, per_list: Loss of a node that at most D lists hold: own + per_list D.
        relation: What makes data of an owner neighbouring: ``JOINS`` or ``REPLACED``; empty at other levels.
        reason: Why the level is in clear or not asked, or what its figure is about; ``{name}`` stands for a figure.
        figures: Further figures of the reason, by name.
        of_one: Loss of one collection, where the level is about several.

    >>> Level("bounded", 118.0, counted=("adjacency", "told"), own=2.0, per_list=4.0).detail
    'list and the bits that others report about it; at most 2 + 4 D where nobody is in more than D lists'
    """

    status: Status
    value: float | None = None
    delta: float = 0.0
    kind: Kind | None = field(default=None, kw_only=True)
    counted: tuple[str, ...] = field(default=(), kw_only=True)
    public: tuple[str, ...] = field(default=(), kw_only=True)
    not_counted: tuple[str, ...] = field(default=(), kw_only=True)
    private_value: float | None = field(default=None, kw_only=True)
    private_delta: float = field(default=0.0, kw_only=True)
    own: float | None = field(default=None, kw_only=True)
    per_list: float | None = field(default=None, kw_only=True)
    relation: str = field(default="", kw_only=True)
    reason: str = field(default="", kw_only=True)
    figures: Mapping[str, float] = field(default_factory=dict, kw_only=True)
    of_one: OfOne | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.kind is None and not self.value is self.private_value is None:
            object.__setattr__(self, "kind", "bound")

    @property
    def detail(self) -> str:
        """The level in words, with all of its figures but the loss itself."""
        public, counted = (" and ".join(names[each] for each in keys) for names, keys in
                           ((_COUNTED if self.private_value is not None else _PUBLIC, self.public),
                            (_COUNTED, self.counted)))  # fmt: skip
        parts = []
        if self.private_value is not None:
            at = f" at delta {self.private_delta:.10g}" if self.private_delta else ""
            parts += [f"{public} in clear", f"{counted} alone: {self.private_value:.10g}{at}"]
        elif public:
            parts.append(f"{public} are public in this setting")
        elif counted:
            parts.append(counted)
        if self.own is not None and self.per_list is not None:
            parts.append(f"at most {self.own:.10g} + {self.per_list:.10g} D where nobody is in more than D lists")
        if self.relation:
            parts.append(f"when {self.relation}")
        if self.reason:
            parts.append(self.reason.format(**{name: f"{value:.10g}" for name, value in self.figures.items()}))
        return "; ".join([*parts, *(NOT_COUNTED[each] for each in self.not_counted)])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; the reason stands in the detail."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        del values["reason"]
        return {**values, "detail": self.detail}
