"""``ldpsim audit --gaussian`` and ``--laplace``: the privacy curve of additive noise, on the screen and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpsim.cli.errors import FAILED, Failure
from ldpsim.cli.output import console, print_json, text_table
from ldpsim.cli.words import count
from ldpsim.curator.shown import shown_loss

if TYPE_CHECKING:
    from ldpsim.curator.additive_noise import AdditiveNoise

_DELTAS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)


def show_curve(
    noise: AdditiveNoise, delta: float, claimed: float | None, *, as_json: bool = False, quiet: bool = False
) -> None:
    """Print the epsilon that holds at the delta, and at others.

    Args:
        noise: The noise.
        delta: Delta.
        claimed: Claimed epsilon at the delta, None without a claim.
        as_json: Whether to print one JSON document.
        quiet: Whether to print nothing.

    Raises:
        Failure: where the claimed epsilon is below the one that holds.
        ValueError: for a delta at which no epsilon holds.
    """
    epsilon, exact = noise.epsilon(delta), noise.is_exact(delta)
    curve = [(each, noise.epsilon(each)) for each in sorted({delta, *_DELTAS}, reverse=True)]
    passed = None if claimed is None else epsilon <= claimed or (None if not exact else False)
    if as_json:
        points = [{"delta": at, "epsilon": value, "exact": noise.is_exact(at)} for at, value in curve]
        print_json({"noise": vars(noise), "delta": delta, "epsilon": epsilon, "exact": exact, "claimed": claimed,
                    "passed": passed, "curve": points})  # fmt: skip
    elif not quiet:
        _show(noise, delta, curve)
        if claimed is not None and not passed:
            verdict = "is wrong" if exact else "is below this bound: it is neither proven nor refuted"
            console().print(f"The claim {shown_loss(claimed)} {verdict}.")
        elif claimed is not None:
            console().print(f"The claim {shown_loss(claimed)} holds.")
    if claimed is not None and passed is False:
        raise Failure(f"--claims {shown_loss(claimed)}: epsilon {shown_loss(epsilon)} holds at delta {delta:g}", FAILED)


def _show(noise: AdditiveNoise, delta: float, curve: list[tuple[float, float]]) -> None:
    name, norm = {"gaussian": ("Gaussian", "L2"), "laplace": ("Laplace", "L1")}[noise.distribution]
    words = (f"{name} noise of scale {noise.scale:g}, sensitivity {noise.sensitivity:g} ({norm}), "
             f"{count(noise.rounds, 'round')}")  # fmt: skip
    holds = f"Epsilon {shown_loss(dict(curve)[delta])} holds at delta {delta:g}: {words}."
    shown = text_table(">delta", ">epsilon", "", gap=2)
    for at, value in curve:
        word = "exact" if noise.is_exact(at) else "bound from above"
        shown.add_row(f"{at:g}", shown_loss(value), word, style="bold" if at == delta else None)
    screen: Any = console()
    screen.print(f"[bold]{holds}[/bold]", "", shown, sep="\n")
