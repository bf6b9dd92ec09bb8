"""Settings of a method or of its training that are refused."""

from __future__ import annotations

# Largest numbers of a setting that has no smaller limit of its own: far beyond every setting that is of use.
MOST_STEPS = 1_000_000
MOST = 1e9
LEAST = 1e-9  # smallest one above 0


class SettingError(ValueError):
    """A setting that is refused: ``--set lr=0: must be above 0``.

    Callers that took the setting from another option name that one instead (:meth:`with_option`).

    Args:
        setting: The setting as it was given, ``lr=0`` or ``lr``.
        reason: Why it is refused, in words.
        option: The option that gave it.

    >>> str(SettingError("lr=0", "must be above 0").with_option("--grid"))
    '--grid lr=0: must be above 0'
    """

    def __init__(self, setting: str, reason: str, option: str = "--set") -> None:
        super().__init__(setting, reason, option)  # all three, so that a worker process can send it back
        self.setting, self.reason, self.option = setting, reason, option

    def __str__(self) -> str:
        return f"{self.option} {self.setting}: {self.reason}"

    def with_option(self, option: str) -> SettingError:
        """Return the same error with another option."""
        return SettingError(self.setting, self.reason, option)
