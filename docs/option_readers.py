"""Readers of options, for ``ldpsim run --help``: strategies/setup/readers.toml, made from what the methods declare.

The command line starts without the methods, most of which need torch. ``python -m docs.option_readers`` writes the
file; a test compares it with the declarations.
"""

from __future__ import annotations

from ldpsim.curator.methods import BUILT_IN
from ldpsim.curator.options import OF_METHODS
from ldpsim.strategies.setup.option_spec import READERS, declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import readers

FEW = 8  # most methods that a line of --help names


def words(option: str) -> str:
    """Return in words which built-in methods read an option: a short list, or their number.

    >>> words("split")
    'Not read by privgnn, pate-g, pate-m, b1, b1-sampled, b2.'
    >>> words("public_features")
    'Read by hogs, sbp, vote, lp-and, noisy.'
    """
    found = readers(option)
    read = [name + (f" with {found[name]}" if found[name] else "") for name in BUILT_IN if name in found]
    other = [name for name in BUILT_IN if name not in found]
    if len(read) <= FEW:
        return f"Read by {', '.join(read)}."
    return (
        f"Not read by {', '.join(other)}." if len(other) <= FEW else f"Read by {len(read)} of {len(BUILT_IN)} methods."
    )


def text() -> str:
    """Return the content of the file."""
    head = "# Written by python -m docs.option_readers: which methods read an option that only some methods read.\n"
    named = [name for name in declared(RunOptions) if name in OF_METHODS]
    return head + "".join(f'{name} = "{words(name)}"\n' for name in named)


if __name__ == "__main__":
    READERS.write_text(text())
