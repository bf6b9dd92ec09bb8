"""Record golden results again: ``python -m tests.golden.record NAME... | --all``.

A golden result changes only where a change of behaviour is meant. A change of a golden line
is a commit of its own, and its message says why the figure is another one now. A refactoring
changes no line.

Record on the machine that the file names, or everything (``--all``) on another one. A run that the
file does not have yet is recorded anywhere, and its block then names its machine. The run on real data needs
LDPSIM_DATA. Without a name, the command lists the names.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    """Record the runs that the command line names; return the exit status."""
    os.environ["OMP_NUM_THREADS"] = "1"  # read when numpy and torch are imported
    import torch

    from tests.golden.golden_file import FILE, load, machine, save
    from tests.golden.performing import perform
    from tests.golden.runs import RUNS

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *RUNS], help="a golden run")
    parser.add_argument("--all", action="store_true", help="every golden run")
    given = parser.parse_args()
    names = list(RUNS) if given.all else given.names
    if not names:
        print("\n".join(RUNS))
        return 0
    content = {"machine": machine(), "runs": {}} if given.all or not FILE.is_file() else load()
    runs, here = content["runs"], machine()
    others = [name for name in names if name in runs and runs[name].get("machine", content["machine"]) != here]
    if others:
        print(f"{', '.join(others)}: recorded on another machine; record --all here", file=sys.stderr)
        return 2
    for name in names:
        started = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            runs[name] = perform(RUNS[name], Path(folder))
        if content["machine"] != here:
            runs[name]["machine"] = here
        print(f"{name}: {time.process_time() - started:.2f} s")
    content["runs"] = {name: runs[name] for name in RUNS if name in runs}
    save(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
