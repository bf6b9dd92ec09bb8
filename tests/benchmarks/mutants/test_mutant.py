"""Mutants of small sources.

Covers benchmarks/mutants/operators.
"""

from __future__ import annotations

import ast

import pytest

from benchmarks.mutants.mutant import mutants_of
from benchmarks.mutants.operators import OPERATORS


def changes(source: str, operator: str) -> set[str]:
    """Return the changed lines that one operator makes, those alone that are Python."""
    found = [mutant for mutant in mutants_of("m.py", source) if mutant.operator == operator]
    return {mutant.after for mutant in found if mutant.is_python()}


CASES = {
    "comparison": ("x = a < b", {"x = a <= b", "x = a >= b"}),
    "arithmetic": ("x = (a + b) * c", {"x = (a - b) * c", "x = (a + b) / c"}),
    "boolean": ("x = a and b", {"x = a or b", "x = True and b", "x = a and True"}),
    "condition": ("x = [a for a in b if a]", {"x = [a for a in b if True]"}),
    "sign removed": ("x = not a", {"x = (a)"}),
    "constant": ("x = f(1, True, 'a')", {"x = f(2, True, 'a')", "x = f(0, True, 'a')", "x = f(1, False, 'a')"}),
    "twin function": ("x = np.min(a)", {"x = np.max(a)"}),
    "train/val/test": ("x = a[split.val]", {"x = a[split.test]"}),
    "order": ("x = sorted(a)", {"x = sorted(a, reverse=True)"}),
    "wrapper removed": ("x = round_up(a + b)", {"x = (a + b)"}),
    "keyword dropped": ("x = f(a, b=1, c=2)", {"x = f(a, c=2)", "x = f(a, b=1)"}),
    "slice bound": ("x = a[b:c]", {"x = a[:c]", "x = a[b:]"}),
    "return None": ("def f(a):\n    return a", {"return None"}),
    "statement removed": ("a[0] = b", {"pass"}),
    "default": ("def f(reporting='both'):\n    g()", {"def f(reporting='bothx'):"}),
}


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_each_operator(operator: str) -> None:
    source, wanted = CASES[operator]
    assert changes(f"{source}\n", operator) == wanted


LEFT = {
    "docstring": '"""A text of 1 word and 2."""',
    "annotation": "def f(a: Literal[1]) -> tuple[int, 2]: ...",
    "names": "__all__ = ['a', 'b'] + [c]",
    "message": "raise_it = f'{a + 1}' + 'x'",
    "log": "log.warning('a', 1 + 2)",
    "assertion": "assert isinstance(a, int) and a > 1",
    "types": "if TYPE_CHECKING:\n    x = 1",
    "command": "if __name__ == '__main__':\n    main(1)",
    "abstract": "class A:\n    def f(self):\n        raise NotImplementedError",
    "decorator": "@dataclass(frozen=True)\nclass A:\n    pass",
}


@pytest.mark.parametrize("case", LEFT)
def test_what_is_left_as_it_is(case: str) -> None:
    assert [mutant.after for mutant in mutants_of("m.py", f"{LEFT[case]}\n")] == []


def test_a_named_argument_that_is_a_text_stays() -> None:
    assert changes("x = f(1, detail=f'{a}', help='a text', kind='word')\n", "keyword dropped") == {
        "x = f(1, detail=f'{a}', help='a text')"
    }


def test_a_raise_is_left_out_and_its_message_stays() -> None:
    source = "def f(a):\n    if a > 1:\n        raise ValueError(f'{a}', 1)\n"
    assert {mutant.operator for mutant in mutants_of("m.py", source)} == {"comparison", "constant", "statement removed"}
    assert changes(source, "constant") == {"if a > 2:", "if a > 0:"}


def test_one_small_piece_changes_and_letters_beyond_ascii_count_as_one() -> None:
    source = "def f(a):\n    # é × 1\n    return a + 'é×'[0], a < 2  # <\n"
    for mutant in mutants_of("m.py", source):
        if mutant.is_python():
            assert mutant.source.splitlines()[:2] == source.splitlines()[:2]
            assert mutant.source.splitlines()[2].strip() == mutant.after.strip() != mutant.before
            ast.parse(mutant.source)


def test_equal_changes_have_names_of_their_own_that_do_not_depend_on_the_place() -> None:
    source = "def f(a):\n    a.g(1)\n    a.g(1)\n"
    names = [mutant.name for mutant in mutants_of("m.py", source)]
    assert len(set(names)) == len(names)
    assert [mutant.name for mutant in mutants_of("m.py", f"import os\n\n\n{source}")] == names
