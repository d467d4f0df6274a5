"""Every way in which Festinger says no, in one tree."""

import re
from pathlib import Path

import pytest

from festinger import errors
from festinger.errors import BadFact, FestingerError, SettingPinned, Stale
from tests.reference import errors_page, walk_errors

ROOT = Path(__file__).parents[1]
TREE = list(walk_errors())

STATUS = {
    "BadInput": (422, 2),
    "BadFact": (400, 2),
    "UnknownSetting": (404, 2),
    "BadSetting": (422, 2),
    "ProposalRefused": (422, 2),
    "TooLarge": (413, 2),
    "TooMany": (429, 5),
    "NotFound": (404, 3),
    "Refused": (409, 4),
    "Stale": (412, 4),
    "AlreadyDecided": (409, 4),
    "TooDeep": (409, 4),
    "UndoBlocked": (409, 4),
    "OneByOne": (409, 4),
    "SettingPinned": (409, 4),
    "ModelInUse": (409, 4),
    "AlreadyRunning": (409, 4),
    "NotProposable": (409, 4),
    "Replayed": (409, 4),
    "NotAuthenticated": (401, 6),
    "BadSignature": (401, 6),
    "NotAuthorised": (403, 6),
    "Unavailable": (503, 5),
    "StoreDown": (503, 5),
    "StoreBusy": (503, 5),
    "ProviderDown": (503, 5),
    "ProviderRefused": (502, 5),
    "Overloaded": (503, 5),
    "CannotStart": (503, 5),
    "StoreUnfit": (503, 5),
    "SchemaTooNew": (503, 5),
    "MigrationChanged": (503, 5),
    "KeyFileExposed": (503, 5),
    "Unwired": (503, 5),
    "PortTaken": (503, 5),
    "FestingerError": (500, 1),
}


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize(("name", "status"), STATUS.items())
def test_each_error_has_the_status_and_exit_code_of_the_specification(name: str, status: tuple[int, int]):
    error = getattr(errors, name)

    assert (error.http, error.exit) == status


@pytest.mark.requirement("X-05")
def test_the_drawn_tree_is_the_tree():
    drawn = re.findall(
        r"^ {4}(?:[│ ]*[├└]── )?([A-Z]\w+)(?: +(\d+))?(?: +exit (\d))?", errors.__doc__ or "", re.MULTILINE
    )

    assert [name for name, _, _ in drawn] == sorted_like(drawn)
    for name, http, code in drawn:
        error = getattr(errors, name)
        assert not http or int(http) == error.http
        assert not code or int(code) == error.exit


def sorted_like(drawn: list[tuple[str, str, str]]) -> list[str]:
    """The names of the real tree, its branches in the order in which they are drawn."""
    order = {name: place for place, (name, _, _) in enumerate(drawn)}

    def walk(error: type[FestingerError]) -> list[str]:
        below = [one for one in error.__subclasses__() if one.__module__ == errors.__name__]
        ordered = sorted(below, key=lambda one: order.get(one.__name__, len(order)))
        return [error.__name__, *(name for one in ordered for name in walk(one))]

    return walk(FestingerError)


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_each_docstring_is_a_message_and_each_hint_says_what_to_do(error: type[FestingerError]):
    assert error.__doc__ is not None
    assert error.default_message().endswith(".")
    assert error.default_message()[0].isupper()
    assert error.default_hint.endswith(".")


@pytest.mark.requirement("X-05")
def test_an_error_says_its_name_in_snake_case():
    assert BadFact().name == "bad_fact"
    assert SettingPinned().name == "setting_pinned"


@pytest.mark.requirement("X-05")
def test_over_http_an_error_has_name_message_hint_and_request_id():
    body = Stale("It moved.").as_json("r1")

    assert body == {"error": {"name": "stale", "message": "It moved.", "hint": Stale.default_hint, "request_id": "r1"}}


def test_an_error_without_words_says_its_docstring():
    assert str(Stale()) == "This has changed since you looked at it."
    assert Stale(hint="Look again.").hint == "Look again."


@pytest.mark.requirement("X-05")
def test_the_reference_page_is_the_one_that_the_tree_renders():
    assert (ROOT / "docs" / "reference" / "errors.md").read_text() == errors_page()
