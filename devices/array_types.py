"""Types of numpy arrays that devices and curators share, and checks of arrays that somebody else wrote.

What a message or a file holds is checked before numpy, scipy or torch works with it. The products of sparse matrices
take row starts and columns as they are: one that is outside the matrix reads or writes memory that is not the matrix's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.floating]
DoubleArray = NDArray[np.float64]
Words = NDArray[np.uint32]


def checked_array(what: str, array: NDArray[Any], kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array of plain numbers as it is.

    Args:
        what: Name of the array, for the error.
        array: The array.
        kinds: The kinds of type that it may have, as numpy's letters.
        shape: The shape that it must have; None is any size.

    Raises:
        ValueError: one line: another type or shape, or a number that is not finite.

    >>> checked_array("labels", np.arange(3), "iu", (3,)).tolist()
    [0, 1, 2]
    >>> checked_array("labels", np.array(["a"]), "iu", (3,))
    Traceback (most recent call last):
    ...
    ValueError: labels: an array of the type <U1 and the shape (1,) has no place here
    """
    sizes = array.shape
    fits = len(sizes) == len(shape) and all(wanted in (None, size) for size, wanted in zip(sizes, shape, strict=True))
    if not fits or array.dtype.kind not in kinds or not array.dtype.isnative:
        raise ValueError(f"{what}: an array of the type {array.dtype} and the shape {sizes} has no place here")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{what}: a number is not finite")
    return array


def checked_numbers(
    what: str, numbers: NDArray[Any], below: int, *, first: int = 0, shape: tuple[int | None, ...] = (None,)
) -> IntArray:
    """Return whole numbers of ``first`` to ``below - 1`` as int64; ValueError, one line, for anything else.

    >>> checked_numbers("people", np.array([2], np.uint8), 3).tolist()
    [2]
    """
    checked_array(what, numbers, "iu", shape)
    if numbers.size and (numbers.min() < first or numbers.max() >= below):
        raise ValueError(f"{what}: a number is outside {first}..{below - 1}")
    return numbers.astype(np.int64, copy=False)


FREE_SIZE = 10_000_000  # numbers that a file may stand for, however short it is


def check_growth(what: str, made: int, given: int) -> None:
    """Check that what is made of a file grows with the file; ValueError, one line, where a short file asks for more.

    Args:
        what: What is made, for the error.
        made: Numbers, texts or cells that are made.
        given: Size of what they are made of.

    >>> check_growth("x", 3 * 10**6, 40)
    >>> check_growth("x: 10^9 rows", 10**9, 40)
    Traceback (most recent call last):
    ...
    ValueError: x: 10^9 rows: too many for a file of this size
    """
    if made > FREE_SIZE + 10 * given:
        raise ValueError(f"{what}: too many for a file of this size")


def check_rows(
    what: str, shape: tuple[int, int], starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any] | None = None
) -> None:
    """Check the parts of a matrix in compressed rows; ValueError, one line, unless they describe one of this shape.

    >>> check_rows("ones", (2, 5), np.array([0, 1, 2]), np.array([4, 0]))
    """
    checked_numbers(f"{what}, columns", columns, shape[1])
    checked_numbers(f"{what}, row starts", starts, len(columns) + 1, shape=(shape[0] + 1,))
    if starts[0] != 0 or starts[-1] != len(columns) or np.any(starts[1:] < starts[:-1]):
        raise ValueError(f"{what}: the rows do not follow one another")
    if values is not None:
        checked_array(f"{what}, values", values, "biuf", columns.shape)
