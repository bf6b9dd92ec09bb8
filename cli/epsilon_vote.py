"""``ldpsim epsilon vote``: losses of votes at every level, without any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpsim.cli.output import console, print_json, text_table
from ldpsim.cli.words import epsilon as shown
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions

if TYPE_CHECKING:
    from ldpsim.curator.privacy.votes import Votes

_ROWS = {
    "bit": LEVELS["bit_adjacency"].words,
    **{name: LEVELS[name].words for name in ("relationship", "user", "label")},
    "node_joins": f"{LEVELS['node'].term}, who joins or leaves",
    "node": f"{LEVELS['node'].term}: all links change",
}


def show(
    epsilon: float | None,
    *,
    eps_labels: float | None,
    times: int | None,
    lists: int | None,
    people: int | None,
    reporting: str | None,
    as_json: bool,
) -> None:
    """Print the losses of votes; the values are the options', None where one was not given.

    Raises:
        ValueError: for a value that is missing or impossible.
    """
    from ldpsim.curator.privacy.votes import Votes, vote_losses

    if epsilon is None:
        raise ValueError("--epsilon: the loss of one answer is needed, for example --epsilon 4")
    for option, value in (("epsilon", epsilon), ("eps_labels", eps_labels)):
        if value is not None:
            declared(RunOptions)[option].check(value)
    votes = Votes(
        epsilon=epsilon, eps_labels=eps_labels, times=1 if times is None else times, lists=lists, people=people,
        reporting=reporting or "both",  # type: ignore[arg-type]
    )  # fmt: skip
    losses = vote_losses(votes)
    if as_json:
        given = {"epsilon": epsilon, "eps_labels": eps_labels, "queries": votes.times, "lists": lists, "nodes": people,
                 "reporting": votes.reporting}  # fmt: skip
        print_json({"method": "vote", **given, "holds": losses, "warnings": []})
        return
    console().print(_view(votes, losses))


def _view(votes: Votes, losses: dict[str, float | None]) -> Any:
    from rich.console import Group

    how = "once" if votes.times == 1 else f"{votes.times:,} times"
    each, label = votes.times * votes.epsilon, votes.eps_labels or 0.0
    unbounded = {
        "node_joins": f"{shown(each + label)} + {shown(each)} D",
        "node": f"{shown(each + label)} + {shown(2 * each)} D",
    }
    table = text_table("when this changes", ">epsilon")
    for name, words in _ROWS.items():
        loss = losses[name]
        if loss is not None or name in unbounded:
            table.add_row(words, unbounded[name] if loss is None else shown(loss))
    bound = "D (--lists)" if votes.lists is None else f"{votes.lists:,}"
    return Group(
        f"[bold]vote[/bold]: everybody answers {how}, each answer at epsilon {votes.epsilon:g}", "", table, "",
        f"The last two rows: nobody is in more than {bound} lists, before and after. A cap on the neighbours "
        "that a device counts is no such bound.",
        "Some table and some lists attain these figures, and no table goes beyond them.",
    )  # fmt: skip
