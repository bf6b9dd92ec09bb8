"""Teachers trained in chunks of queries, in processes or on Ray.

A chunk is a fixed range of query numbers. Its bytes depend only on the kind of device (CPU or
GPU), not on the worker, the order or earlier kills: every draw depends on the number of its
query, each worker has one thread, and a GPU always trains a whole chunk at once. A chunk's
file is written as a whole or not at all. A run that starts again trains the missing chunks.

    task.json         the key of all that the posteriors depend on
    private/ public/  the graphs, memory-mapped by the workers
    chunk-00012.npy   float64 (CHUNK, classes), posteriors without noise: the owner's secret
    released.json     number of queries that these teachers answered, by lambda

The posteriors do not depend on lambda: one set of teachers serves every lambda. The folder
has raw private records and answers without noise. It is as secret as the owner's data; only
the owner's account can read it (0700, files 0600).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ldpsim.curator.owner.teachers.answering import Teaching, posteriors
from ldpsim.curator.owner.teachers.graph import PlainGraph, save_array
from ldpsim.devices.array_types import checked_array
from ldpsim.devices.atomic_files import close_to_others, write_atomically
from ldpsim.devices.facts import IntArray
from ldpsim.strategies.engines.pool import on_ray, processes
from ldpsim.strategies.progress import Progress, quiet

CHUNK = 20
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Classroom:
    """Folder with the graphs and the posteriors of one set of teachers.

    Args:
        folder: The folder, on a disk that all machines of the workers share.
        teaching: Training of the teachers.
        order: int64, public nodes in the order of the queries.
        device: ``cpu`` or ``cuda``.
    """

    folder: Path
    teaching: Teaching
    order: IntArray
    device: str = "cpu"

    @classmethod
    def open(
        cls, home: Path, private: PlainGraph, public: PlainGraph, teaching: Teaching, order: IntArray, *,
        device: str = "cpu",
    ) -> Classroom:  # fmt: skip
        """Return the folder of exactly these teachers under ``home``; create it if it is missing.

        Raises:
            OSError: if it cannot be written.
        """
        found = hashlib.sha256(json.dumps([FORMAT, CHUNK, asdict(teaching), device], sort_keys=True).encode())
        for graph in (private, public):
            for array in (graph.features, graph.indptr, graph.indices, graph.labels):
                found.update(np.ascontiguousarray(array).data)
        found.update(order.tobytes())
        key = found.hexdigest()
        room = cls(home / f"teachers-{key[:12]}", teaching, order, device)
        home.mkdir(parents=True, exist_ok=True)
        room.folder.mkdir(exist_ok=True, mode=0o700)
        if room.folder.stat().st_mode & 0o077:  # a copy may have lost the mode
            close_to_others(room.folder)
        if not (room.folder / "task.json").is_file():
            private.save(room.folder / "private")
            public.save(room.folder / "public")
            write_atomically(room.folder / "task.json", json.dumps({"format": FORMAT, "key": key}))
        return room

    def posteriors(
        self, queries: int, *, workers: int | None = None, ray_address: str | None = None, tell: Progress = quiet
    ) -> NDArray[np.float64]:
        """Return float64 (queries, classes) for the first queries; train the missing teachers.

        Args:
            queries: Number of queries, at most the length of ``order``.
            workers: Number of processes with one thread each; None for one per core. One process trains one
                chunk at a time.
            ray_address: Address of a Ray cluster to train on instead.
            tell: Called with ``teachers`` and the share done.

        Raises:
            ValueError: for more queries than there are nodes to ask about.
        """
        if not 1 <= queries <= len(self.order):
            raise ValueError(
                f"--queries {queries}: must be 1 to {len(self.order)}, the number of public nodes that may be "
                "asked about"
            )
        chunks = range(-(-queries // CHUNK))
        missing = [chunk for chunk in chunks if not self.path(chunk).is_file()]
        for done, _ in enumerate(self._train(missing, workers, ray_address), start=len(chunks) - len(missing) + 1):
            tell("teachers", done / len(chunks))
        return np.concatenate([self._chunk(chunk) for chunk in chunks])[:queries]

    def _chunk(self, chunk: int) -> NDArray[np.float64]:
        """Read a chunk; ValueError where its file holds something else."""
        path = self.path(chunk)
        found = np.load(path, allow_pickle=False)
        return checked_array(str(path), found, "f", (len(self.numbered(chunk)), *found.shape[-1:]))

    def trained(self, queries: int) -> int:
        """Return the number of the first queries that have a teacher."""
        there = [chunk for chunk in range(-(-queries // CHUNK)) if self.path(chunk).is_file()]
        return sum(min(queries, (chunk + 1) * CHUNK) - chunk * CHUNK for chunk in there)

    def path(self, chunk: int) -> Path:
        """Return the file of a chunk."""
        return self.folder / f"chunk-{chunk:05d}.npy"

    def numbered(self, chunk: int) -> list[tuple[int, int]]:
        """Return (number, public node) of a chunk's queries; the last chunk may be shorter."""
        first = chunk * CHUNK
        return list(enumerate(self.order[first : first + CHUNK].tolist(), start=first))

    def note_release(self, lambda_: float, queries: int, *, of: str) -> int:
        """Record a release of labels; return the number of labels that these teachers released in all."""
        given = self._given()
        name = f"{of} {lambda_:.17g}"
        # The same lambda gives the same noise to the same queries: the longer list contains the shorter.
        given[name] = max(given.get(name, 0), queries)
        write_atomically(self.folder / "released.json", json.dumps(given))
        return sum(given.values())

    def released(self) -> tuple[dict[float, int], bool]:
        """Return the labels released with noise on the posterior, by lambda, and whether there were no others."""
        found, all_of_them = {}, True
        for name, count in self._given().items():
            of, value = name.rsplit(" ", 1)
            if of == "posterior":
                found[float(value)] = count
            else:
                all_of_them = False
        return found, all_of_them

    def _given(self) -> dict[str, int]:
        path = self.folder / "released.json"
        return dict(json.loads(path.read_text())) if path.is_file() else {}

    def _train(self, chunks: Sequence[int], workers: int | None, ray_address: str | None) -> Iterator[int]:
        tasks = [(str(self.folder), chunk, self.numbered(chunk), self.teaching, self.device) for chunk in chunks]
        if not tasks:
            return
        count = 1 if self.device == "cuda" else workers
        here = processes(count, tasks=len(tasks), here=True)
        with here if ray_address is None else on_ray(None, ray_address, retries=3) as pool:
            for _, future in pool.each(train_chunk, enumerate(tasks)):
                yield future.result()


def train_chunk(task: tuple[str, int, list[tuple[int, int]], Teaching, str]) -> int:
    """Train a chunk's teachers and write their posteriors; return the chunk's number."""
    folder, chunk, queries, teaching, device = task
    private, public = _graphs(folder)
    with one_thread():
        found = posteriors(private, public, queries, teaching, device=device)
    save_array(Path(folder) / f"chunk-{chunk:05d}.npy", found)
    return chunk


@lru_cache(maxsize=2)
def _graphs(folder: str) -> tuple[PlainGraph, PlainGraph]:
    return PlainGraph.load(Path(folder) / "private"), PlainGraph.load(Path(folder) / "public")


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread: more would add in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
