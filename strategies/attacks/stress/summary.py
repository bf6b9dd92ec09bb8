"""The strongest attack on devices of each protection: figures of the screen, the page and the picture.

Of each protection and number of questions this is the largest share over all attacks, by attribute. Without reports no
edge and no rare feature is named, and a label is guessed as the most frequent class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpsim.strategies.attacks.stress.campaign import PROTECTIONS, REAL
from ldpsim.strategies.results.numbers import NONE, count, points

WORDS = {"adjacency": "friendships", "features": "features", "label": "labels"}
DEVICES = {  # what a device of each protection does
    "none": "new noise for every question",
    "context-state": "keeps its report in Context.state",
    "refuse": "keeps its report in a ledger",
    "replay": "the same, and sends it again",
    "pinned": "refuse, for one curator alone",
}
THEORY = (
    "bits, features, labels: values guessed right by maximum likelihood, and what theory expects (other attacks than "
    "repeat, new-run and at-once: at most), in %; a coin gets 50 % of bits. friends: share of the friendships that are "
    "named by a guess that knows how many there are, in %."
)
MOST_COLUMNS = 3  # numbers of questions in the table
Shares = Mapping[str, float | None]  # by attribute


@dataclass(frozen=True)
class Summary:
    """Recovered shares.

    Args:
        shares: By protection, then by number of questions.
        no_reports: What a guess without reports recovers.
        asks: Numbers of questions, rising.
    """

    shares: Mapping[str, Mapping[int, Shares]]
    no_reports: Shares
    asks: tuple[int, ...]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Summary:
        """Return the summary of the rows of a test."""
        shares: dict[str, dict[int, dict[str, float | None]]] = {}
        no_reports: dict[str, float | None] = {}
        for row in sorted(rows, key=lambda row: (PROTECTIONS.index(row["protection"]), row["asks"])):
            attribute, found = row["attribute"], row["found"]
            cell = shares.setdefault(row["protection"], {}).setdefault(row["asks"], {})
            cell[attribute] = max((value for value in (cell.get(attribute), found) if value is not None), default=None)
            no_reports[attribute] = row["constant_guess"] if attribute == "label" else None if found is None else 0.0
        asks = sorted({row["asks"] for row in rows})
        order = [attribute for attribute in WORDS if attribute in no_reports]
        return cls(
            {name: {number: {each: cell.get(each) for each in order} for number, cell in cells.items()}
             for name, cells in shares.items()},
            {each: no_reports[each] for each in order}, tuple(asks),
        )  # fmt: skip

    @property
    def shown_asks(self) -> tuple[int, ...]:
        """The numbers of questions in the table: all, or the first, the middle and the last one."""
        if len(self.asks) <= MOST_COLUMNS:
            return self.asks
        return self.asks[0], self.asks[len(self.asks) // 2], self.asks[-1]

    @property
    def attribute(self) -> str:
        """The attribute that the sentences are about: friendships, where people have some."""
        return next((name for name, share in self.no_reports.items() if share is not None), "label")

    @property
    def answer(self) -> str:
        """One sentence: what many questions recover without protection, and what where a device keeps one report."""
        first, last = self.asks[0], self.asks[-1]
        sentences, word = list[str](), WORDS[self.attribute]
        if "none" in self.shares:
            open_share = points(self._share("none", last), 0)
            sentences.append(f"without protection {count(last, 'question')} {_do(last)} {open_share} % of {word}")
        kept = [name for name in REAL if name in self.shares]
        if kept:
            one, many = (points(max(self._share(name, number) for name in kept), 0) for number in (first, last))
            same = f"{last} recover what {first} {'does' if first == 1 else 'do'} ({many} %)"
            if first == last or one != many:
                same = f"{count(last, 'question')} {_do(last)} {many} % of {word}"
            sentences.append(f"with one report kept, {same}")
        text = "; ".join(sentences) or f"{count(last, 'question')} {_do(last)} {self._most(last)} % of {word}"
        return f"{text[0].upper()}{text[1:]}."

    @property
    def not_protected(self) -> str:
        """A sentence on what a ledger does not protect from, and its price; empty where no device has one."""
        if not any(name in self.shares for name in REAL):
            return ""
        text = ("Not protected: a ledger that is emptied, copied, or put back from a backup. Each time gives one "
                "more report")  # fmt: skip
        again = next((number for number in self.asks if number > 1), None)
        if "none" in self.shares and again is not None:
            cell = cell_text(self.shares["none"][again])
            text += f": {again - 1} of them are worth {again} questions without protection ({cell})"
        return f"{text}. A counter elsewhere notices it (`ldpsim device enrol --counters`)."

    def _share(self, protection: str, asks: int) -> float:
        return self.shares[protection][asks][self.attribute] or 0.0

    def _most(self, asks: int) -> str:
        return points(max(self._share(name, asks) for name in self.shares), 0)


def attacks_table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return cells as text for each protection, attack and number of questions; ``!`` marks what theory excludes."""
    together: dict[tuple[str, str, int], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        together.setdefault((row["protection"], row["adversary"], row["asks"]), {})[row["attribute"]] = row
    return [
        {"protection": protection, "attack": attack, "asks": f"{asks:,}",
         "friends": points(found["adjacency"]["found"]) if "adjacency" in found else NONE,
         **{heading: _beside_theory(found[name]) if name in found else NONE
            for name, heading in (("adjacency", "bits"), ("features", "features"), ("label", "labels"))}}
        for (protection, attack, asks), found in together.items()
    ]  # fmt: skip


def _beside_theory(row: Mapping[str, Any]) -> str:
    expected = row["one_query_bound"] if row["covered"] else row["theory"]
    return f"{points(row['recovered'])}/{points(expected)}{'' if row['passed'] else '!'}"


def cell_text(shares: Shares) -> str:
    """Return the shares of a cell of the table, in whole per cent."""
    return "/".join(points(share, 0) for share in shares.values())


def _do(questions: int) -> str:
    return "recovers" if questions == 1 else "recover"
