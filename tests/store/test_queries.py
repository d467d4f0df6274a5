import pytest

from festinger.store.queries import Queries, Query, load_queries

TEXT = """-- About this room.

-- name: find_thing
-- Finds one thing,
-- by its id.
select * from thing where space_id = %(space)s and id = %(id)s and note like '10%%' and space_id = %(space)s;

-- name: count_things
-- How many there are.
select count(*) from thing;
"""


@pytest.mark.requirement("X-29")
def test_a_query_has_a_name_a_purpose_and_a_statement() -> None:
    queries = Queries("things", TEXT)

    assert list(queries) == ["find_thing", "count_things"]
    assert len(queries) == 2
    assert queries["count_things"] == Query(
        room="things", name="count_things", purpose="How many there are.", sql="select count(*) from thing"
    )
    assert queries["find_thing"].purpose == "Finds one thing, by its id."


def test_a_plan_sees_each_parameter_once_and_a_percent_sign_as_it_is() -> None:
    query = Queries("things", TEXT)["find_thing"]

    assert query.parameters == ("space", "id")
    assert query.positional.endswith("space_id = $1 and id = $2 and note like '10%' and space_id = $1")


@pytest.mark.requirement("X-29")
@pytest.mark.parametrize("body", ["select 1;", "-- Says what it is for."])
def test_a_query_without_a_purpose_or_a_statement_is_not_taken(body: str) -> None:
    with pytest.raises(ValueError, match="`lonely` of `things`"):
        Queries("things", f"-- name: lonely\n{body}\n")


def test_two_queries_of_one_name_are_not_taken() -> None:
    with pytest.raises(ValueError, match="twice"):
        Queries("things", TEXT + TEXT)


def test_an_unknown_name_fails_where_it_is_looked_up() -> None:
    with pytest.raises(KeyError):
        load_queries("festinger.store")["nothing_like_this"]


def test_what_several_queries_say_stands_once_and_is_put_in_where_they_use_it() -> None:
    found = Queries(
        "room",
        "-- part: seen\n-- Who is seen.\na.x = %(x)s\nand a.y\n\n"
        "-- name: one\n-- The first.\nselect 1 from a where\n  -- use: seen\norder by 1;\n",
    )

    assert list(found) == ["one"]
    assert found["one"].sql == "select 1 from a where\n  a.x = %(x)s\n  and a.y\norder by 1"


def test_a_part_that_is_unknown_is_not_taken() -> None:
    with pytest.raises(KeyError):
        Queries("room", "-- name: one\n-- The first.\nselect 1\n-- use: seen\n")


CHOICES = (
    "-- name: one\n-- The first.\nselect 1 where false\n"
    "-- when: two\nunion all select %(two)s\n-- end\n"
    "-- when: three\nunion all select %(three)s\n  -- end\n;\n"
)


def test_what_is_not_asked_for_is_left_out_of_a_statement() -> None:
    query = Queries("room", CHOICES)["one"]

    assert query.choices == {"two", "three"}
    assert query.parameters == ("two", "three")
    assert query.only(frozenset({"three"})).sql == "select 1 where false\nunion all select %(three)s\n"
    assert query.only(frozenset()).parameters == ()


def test_a_choice_that_a_statement_does_not_have_is_not_taken() -> None:
    with pytest.raises(KeyError, match="four"):
        Queries("room", CHOICES)["one"].only(frozenset({"four"}))
