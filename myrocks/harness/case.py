"""A case: a function that gets a Kit and fails by raising. Its documentation is what it shows."""
import dataclasses
from collections.abc import Callable

from tooling.places import ToolError

_declared = []


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    run: Callable
    shows: str
    short: bool  # also without --full


class CaseFailed(ToolError):
    """What a case found."""


def case(*, short=False):
    def declare(function):
        shows = (function.__doc__ or "").strip().split("\n")[0]
        _declared.append(Case(function.__name__.replace("_", "-"), function, shows, short))
        return function
    return declare


def declared():
    return list(_declared)


def expect(true, what):
    if not true:
        raise CaseFailed(what)


def expect_equal(found, expected, what):
    expect(found == expected, f"{what}: found {found!r}, expected {expected!r}")
