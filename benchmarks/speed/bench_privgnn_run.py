"""The whole of PrivGnn once: 1,000 queries at K = 300 on Amazon Computers, with its time and memory.

Runs ``ldpsim run --method privgnn --dataset computers --queries 1000 --no-nulls`` in a fresh folder and
prints wall time, CPU time (which a busy machine changes less), the load average beside them,
the largest process, and the largest sum over all of its processes (pages that they share
are counted in each). Aims: below 6 minutes on 4 cores, below 3 GB.

    python -m benchmarks.speed.bench_privgnn_run [--workers 4] [--queries 1000] [--save]

``--save`` enters the figures in docs/results/privgnn-measured.csv. Memory needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import ROOT
from benchmarks.speed.measured import enter
from benchmarks.speed.process import beside


def memory_of(session: int) -> int:
    """Bytes in memory of all processes of a session, what they share counted in each."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            total += int(fields[21]) * resource.getpagesize()
    return total


def main() -> None:
    """Run once and print a line a measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    before, started, most = os.getloadavg()[0], time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as out, open(Path(out) / "stdout", "w+") as shown:
        asked = ["run", "--method", "privgnn", "--dataset", "computers", "--queries", str(given.queries),
                 "--workers", str(given.workers), "--no-nulls", "--out", out, "--json"]  # fmt: skip
        command = [sys.executable, "-m", "ldpsim.cli.main", *asked]
        process = subprocess.Popen(command, stdout=shown, cwd=ROOT, start_new_session=True)
        while process.poll() is None:
            most = max(most, memory_of(process.pid))
            time.sleep(0.2)
        if process.returncode:
            raise SystemExit(process.returncode)
        shown.seek(0)
        record = json.load(shown)
    wall, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    teachers, privacy = record["teachers"], record["privacy"]
    load = f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    lines = {
        "time": f"{wall:.0f} s wall, {cpu:.0f} CPU s",
        "memory": f"{used.ru_maxrss / 2**20:.2f} GiB the largest process, {most / 2**30:.2f} GiB all of them",
        "student": f"test accuracy {record['accuracy']['test']:.3f}, "
        f"{100 * teachers['pseudo_label_accuracy']:.1f}% of the labels right",
        "epsilon": f"printed {teachers['epsilon']['printed']:.2f}, label {teachers['epsilon']['label']:.2f}, "
        f"vector {teachers['epsilon']['vector']:.2f}; trust: {privacy['trust']}",
    }  # fmt: skip
    print(f"{given.queries} queries, K=300, {given.workers} workers; {beside()}; {load}")
    for name, line in lines.items():
        print(f"  {name}: {line}")
    if given.save:
        what = f"{given.queries:,} queries, K=300, {given.workers} workers"
        enter(f"{what}: time", "6 min" if given.queries == 1000 else "", lines["time"], load)
        enter(f"{what}: memory", "3 GB", lines["memory"], load)


if __name__ == "__main__":
    main()
