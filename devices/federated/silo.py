"""A silo: a party of a federated training that holds the raw records of its members.

Each silo is one Flower client, told by ``silo-dir`` in its node configuration. Its members
handed their records over (:mod:`ldpsim.devices.raw_record`), so every silo is a trusted curator of
its own; its updates are under no noise. It trains the two-layer GCN of
:mod:`ldpsim.devices.network` on the graph that its members induce, or (``sums``) with the rows of
S X that its members' neighbours in other silos complete, exchanged once before training.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, check_rows
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import MOST_LOCAL_STEPS
from ldpsim.devices.federated.wire import (
    evaluation_reply,
    exchange_reply,
    read_mu,
    read_own,
    read_weights,
    update_reply,
)
from ldpsim.devices.network import LARGEST, Shape, are_usable, diverging, softmax, usable
from ldpsim.devices.query import InvalidQuery, canonical, malformed
from ldpsim.devices.training_task import AnswerKind
from ldpsim.devices.wire import reply

FORMAT = 1
MOST_COLUMNS = 1 << 22
MOST_BYTES = 1 << 31  # of the sums that a silo keeps: one file, however often they are sent
_SUMS = "sums.bin"
_ARRAYS = ("members", "indptr", "columns", "values", "neighbour_indptr", "neighbours", "labels", "training")


@dataclass(frozen=True)
class SiloTask:
    """Task of the silos: the GCN of a round and its local steps (SGD with weight decay and dropout).

    Raises:
        InvalidQuery: for anything that is not of this form.
    """

    collection: str
    sums: bool
    d: int
    hidden: int
    classes: int
    lr: float
    steps: int
    weight_decay: float
    dropout: float
    seed: int

    def __post_init__(self) -> None:
        sizes = (self.d, self.hidden, self.classes, self.steps)
        rates = (self.lr, self.weight_decay, self.dropout)
        if not all(type(size) is int and size >= 1 for size in sizes) or type(self.seed) is not int:
            raise InvalidQuery("the task is malformed")
        if self.d > MOST_COLUMNS or max(self.hidden, self.classes) > 1 << 14 or self.steps > MOST_LOCAL_STEPS:
            raise InvalidQuery("the task is too large")  # the products take memory for every column
        if not all(type(rate) is float and 0 <= rate <= LARGEST for rate in rates) or not self.dropout < 1:
            raise InvalidQuery("the task is malformed")

    @property
    def shape(self) -> Shape:
        """The network's sizes."""
        return Shape(self.d, self.hidden, self.classes)

    def to_bytes(self) -> bytes:
        """Return the canonical bytes."""
        return canonical({"v": FORMAT, "silo": True, **asdict(self)})

    @staticmethod
    def from_bytes(data: object) -> SiloTask:
        """Read the bytes; InvalidQuery for any others."""
        with malformed("the task"):
            given = json.loads(data)  # type: ignore[arg-type]
            if given.pop("v") != FORMAT or given.pop("silo") is not True:
                raise InvalidQuery("unknown task format")
            return SiloTask(**given)


@dataclass(frozen=True, eq=False)
class Silo:
    """A silo's data.

    Args:
        members: int64 (m,): global ids, sorted.
        indptr, columns, values: CSR rows of the members' features, scaled.
        neighbour_indptr, neighbours: CSR rows of the members' neighbours, global ids: also
            those in other silos.
        labels: int64 (m,).
        training: bool (m,): whose labels are trained on.
    """

    members: NDArray[np.int64]
    indptr: NDArray[np.int64] = field(repr=False)
    columns: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float32] = field(repr=False)
    neighbour_indptr: NDArray[np.int64] = field(repr=False)
    neighbours: NDArray[np.int64] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    training: NDArray[np.bool_] = field(repr=False)

    def save(self, folder: Path) -> None:
        """Write the data, plain arrays."""
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "silo.npz", **{name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, folder: Path) -> Silo:
        """Read :meth:`save` back."""
        with np.load(folder / "silo.npz", allow_pickle=False) as found:
            return cls(**{name: found[name] for name in _ARRAYS})

    @property
    def degrees(self) -> NDArray[np.int64]:
        """int64 (m,): the members' true degrees, neighbours in other silos included."""
        return np.diff(self.neighbour_indptr)

    def features(self, d: int) -> Any:
        """The members' scaled features, CSR (m, d); ValueError where they have more columns."""
        check_rows("the features", (len(self.members), d), self.indptr, self.columns, self.values)
        return _csr((self.values, self.columns, self.indptr), shape=(len(self.members), d))

    def inside(self) -> Any:
        """D^-1/2 (A + I) D^-1/2 of the graph that the members induce, CSR (m, m)."""
        m = len(self.members)
        number = np.searchsorted(self.members, self.neighbours)
        own = self.members[np.minimum(number, m - 1)] == self.neighbours
        rows = np.repeat(np.arange(m), self.degrees)[own]
        ends = np.concatenate([rows, np.arange(m)]), np.concatenate([number[own], np.arange(m)])
        looped = _csr((np.ones(len(ends[0]), np.float32), ends), shape=(m, m))
        root = 1 / np.sqrt(np.asarray(looped.sum(axis=1)).ravel())
        rows, columns = looped.nonzero()
        return _csr(((root[rows] * root[columns]).astype(np.float32), (rows, columns)), shape=(m, m))

    @property
    def _near(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Members by place, each with its neighbours and then itself by global id."""
        places = np.arange(len(self.members))
        return np.concatenate([np.repeat(places, self.degrees), places]), np.concatenate(
            [self.neighbours, self.members]
        )

    def contribution(self, d: int) -> tuple[NDArray[np.int64], Any]:
        """Return the members' part of the sums: ids j, rows of sums over i in N(j) and j of x_i / root(d_i + 1)."""
        from scipy.sparse import diags_array

        rows, near = self._near
        ids, places = np.unique(near, return_inverse=True)
        spread = _csr((np.ones(len(rows), np.float32), (places, rows)), shape=(len(ids), len(self.members)))
        scale = diags_array((1 / np.sqrt(self.degrees + 1)).astype(np.float32))
        return ids, (spread @ (scale @ self.features(d))).tocsr()

    def outside(self, ids: NDArray[np.int64], degrees: NDArray[np.int64]) -> Any:
        """The members' rows of S over the nodes ``ids`` (sorted; of these degrees), CSR (m, len(ids)).

        Raises:
            ValueError: for a node without a degree, or where a member or its neighbour is none of the nodes.
        """
        rows, near = self._near
        columns = np.searchsorted(ids, near)
        if len(degrees) != len(ids) or len(np.setdiff1d(near, ids)):
            raise ValueError("the sums are of other people")
        weights = 1 / np.sqrt((self.degrees[rows] + 1.0) * (degrees[columns] + 1.0))
        return _csr((weights.astype(np.float32), (rows, columns)), shape=(len(self.members), len(ids)))


@dataclass(frozen=True, eq=False)
class Bound:
    """A silo's matrices for training: the inputs S X, and how the members sum hidden units."""

    inputs: Any
    spread: Any

    @classmethod
    def of(cls, silo: Silo, folder: Path, d: int, *, sums: bool) -> Bound:
        """Bind a silo's data, with the sums that its folder keeps where ``sums``."""
        if not sums:
            spread = silo.inside()
            return cls(spread @ silo.features(d), spread)
        ids, rows, degrees = read_rows((folder / _SUMS).read_bytes(), d)
        return cls(rows, silo.outside(ids, degrees))

    def scores(self, flat: FloatArray, shape: Shape) -> FloatArray:
        """The members' scores, (m, classes)."""
        w1, b1, w2, b2 = shape.parts(flat)
        result: FloatArray = self.spread @ (np.maximum(self.inputs @ w1 + b1, 0) @ w2) + b2
        return result

    @diverging()
    def train(self, silo: Silo, flat: FloatArray, task: SiloTask, *, mu: float, seed: list[int]) -> FloatArray:
        """The weights after the task's steps (FedProx's term where mu > 0), (size,)."""
        own = flat.copy()
        w1, b1, w2, b2 = task.shape.parts(own)
        rng = np.random.Generator(np.random.PCG64(seed))
        nodes = np.flatnonzero(silo.training)
        rows = self.spread[nodes]
        kept = 1 - task.dropout
        for _ in range(task.steps):
            z = self.inputs @ w1 + b1
            mask = (z > 0) * ((rng.random(z.shape) < kept) / kept).astype(flat.dtype)
            p = rows @ (z * mask)
            error = softmax(p @ w2 + b2)
            error[np.arange(len(nodes)), silo.labels[nodes]] -= 1
            error /= len(nodes)
            back = (rows.T @ (error @ w2.T)) * mask
            steps = task.weight_decay * own + mu * (own - flat)
            for part, step in zip(
                task.shape.parts(steps), (self.inputs.T @ back, back.sum(axis=0), p.T @ error, error.sum(axis=0)),
                strict=True,
            ):  # fmt: skip
                part += step
            own -= task.lr * steps
        return usable(own.astype(flat.dtype, copy=False))


def has_sums(folder: Path) -> bool:
    """Return whether a silo was sent the sums of its members' neighbours."""
    return (folder / _SUMS).is_file()


def _csr(entries: Any, shape: tuple[int, int]) -> Any:
    """Return a CSR matrix; scipy is no import of a device that never multiplies one."""
    from scipy.sparse import csr_array

    return csr_array(entries, shape=shape)


def answer_as_silo(folder: Path, message: Message, kind: AnswerKind | None) -> Message:
    """Answer one message for the silo of a folder. A malformed message gets ``UNKNOWN_QUERY``."""
    try:
        silo = _silo(str(folder), os.getpid())
        number = int(folder.name.rpartition("-")[2])
        config: ConfigRecord = message.content["config"]  # type: ignore[assignment]
        task = SiloTask.from_bytes(config["task"])
        if kind is None:
            own = read_own(message) or b""
            if len(own) > MOST_BYTES:
                raise InvalidQuery("the sums are larger than a silo keeps")
            ids, _, degrees = read_rows(own, task.d)
            silo.outside(ids, degrees)
            write_atomically(folder / _SUMS, own, durable=False)
            _bound.cache_clear()
            return exchange_reply(b"", message, device=number)
        if kind == "exchange":
            told = np.concatenate([silo.members, silo.degrees])
            return exchange_reply(pack_silo_rows(*silo.contribution(task.d), degrees=told), message, device=number)
        bound = _bound(str(folder), os.getpid(), task.d, task.sums)
        flat = read_weights(message.content.get("arrays"), task.shape.size)
        if kind == "evaluation":
            best = bound.scores(flat, task.shape).argmax(axis=1)
            return evaluation_reply(int((best == silo.labels).sum()), message, members=len(best))
        round_ = int(config.get("server-round", 0))  # type: ignore[arg-type]  # other types fail below
        weights = bound.train(silo, flat, task, mu=read_mu(config), seed=[task.seed, number, round_])
        return update_reply(weights, message, device=number, examples=int(silo.training.sum()))
    except Exception:  # Flower would send the text of an exception to the server
        return reply(Refusal.UNKNOWN_QUERY, message, device=-1)


@lru_cache(maxsize=256)
def _silo(folder: str, process: int) -> Silo:
    return Silo.load(Path(folder))


@lru_cache(maxsize=256)
def _bound(folder: str, process: int, d: int, sums: bool) -> Bound:
    return Bound.of(_silo(folder, process), Path(folder), d, sums=sums)


def pack_silo_rows(ids: NDArray[np.int64], rows: Any, *, degrees: NDArray[np.int64]) -> bytes:
    """Return sparse rows by global id, and degrees (of the ids, or of a silo's members), as bytes."""
    head = np.array([len(ids), rows.nnz, len(degrees)], "<u4").tobytes()
    numbers = (ids, rows.indptr[1:], degrees, rows.indices)
    return head + b"".join(part.astype("<u4").tobytes() for part in numbers) + usable(rows.data).astype("<f4").tobytes()


def read_rows(data: bytes, d: int) -> tuple[NDArray[np.int64], Any, NDArray[np.int64]]:
    """Read :func:`pack_silo_rows`: rising ids, CSR (ids, d), degrees; ValueError for other bytes."""
    if len(data) < 12:
        raise ValueError("the rows are cut off")
    count, size, known = np.frombuffer(data, "<u4", 3).tolist()
    if len(data) != 12 + 4 * (2 * count + known + 2 * size):
        raise ValueError("the rows are cut off")
    parts = np.split(np.frombuffer(data, "<u4", 2 * count + known + size, 12).astype(np.int64),
                     np.cumsum([count, count, known]))  # fmt: skip
    ids, ends, degrees, columns = parts
    values, starts = np.frombuffer(data, "<f4", size, len(data) - 4 * size), np.concatenate([[0], ends])
    check_rows("the rows", (count, d), starts, columns, values)
    if np.any(np.diff(ids) <= 0) or not are_usable(values):
        raise ValueError("the rows are out of order, or have numbers that are too large")
    return ids, _csr((values, columns, starts), shape=(count, d)), degrees
