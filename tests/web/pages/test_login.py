"""Coming in to the console, staying, going; and what a session may not do."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.server import Hands, fixed_tools, told
from tests.web.asgi import BEYOND, HERE, Got
from tests.web.deps import Desk, deps
from tests.web.visitor import FORM, ORIGIN, Visitor, forms_of, visitor, visitor_with_key

from festinger.services.access import withdraw_key
from festinger.store.repositories.auth import AccessRole, load_api_keys
from festinger.web.auth import COOKIE
from festinger.web.render import safe_redirect_path


async def enter(
    at: Desk, secret: str, *, origin: str | None = ORIGIN, to: str = "/admin", caller: str = BEYOND, via: str = ""
) -> Got:
    headers = {"content-type": FORM, **({"origin": origin} if origin else {})}
    if via:
        headers["x-forwarded-for"] = via
    body = urlencode({"secret": secret, "next": to}).encode()
    return await at.ask("POST", "/admin/login", key=None, body=body, headers=headers, caller=caller)


@pytest.mark.requirement("F-67")
async def test_a_link_opens_the_console_once(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        link = await at.app.logins.invite("ann")
        looked = await at.ask("GET", f"/admin/login?code={link}", key=None, caller=BEYOND)
        first = await enter(at, link, to="/admin/conflicts")
        second = await enter(at, link)

        assert [form.fields["secret"] for form in forms_of(looked)] == [link]
        assert (first.status, first.headers["location"]) == (303, "/admin/conflicts")
        cookie = first.headers["set-cookie"].lower()
        assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/admin"))
        assert second.status == 401
        assert [event.payload["reviewer"] for event in await told(at.app, "login")] == ["ann"]


async def test_a_link_ends_after_its_minutes_and_a_session_after_its_idle_hours(database_url: str, tmp_path: Path):
    hands = Hands()
    async with deps(database_url, tmp_path, tools=fixed_tools(hands)) as at:
        person, late = await visitor(at), await at.app.logins.invite("bob")
        hands.forward(timedelta(minutes=10, seconds=1))
        too_late = await enter(at, late)
        hands.forward(timedelta(hours=11))
        still = await person.get("/admin/conflicts")
        hands.forward(timedelta(hours=11))
        kept_by_use = await person.get("/admin/conflicts")
        hands.forward(timedelta(hours=12, seconds=1))
        ended = await person.get("/admin/conflicts")

    assert too_late.status == 401
    assert (still.status, kept_by_use.status, ended.status) == (200, 200, 401)


@pytest.mark.requirement("F-67")
async def test_five_wrong_tries_make_a_pause_of_a_minute(database_url: str, tmp_path: Path):
    hands = Hands()
    async with deps(database_url, tmp_path, tools=fixed_tools(hands)) as at:
        link = await at.app.logins.invite("ann")
        wrong = [(await enter(at, "fsl_wrong")).status for _ in range(5)]
        paused = await enter(at, link)
        hands.forward(timedelta(minutes=1))
        after = await enter(at, link)

        assert wrong == [401] * 5
        assert (paused.status, after.status) == (429, 303)
        refused = await told(at.app, "login_refused")
        assert [event.payload["count"] for event in refused] == [1, 2, 3, 4, 5]


@pytest.mark.requirement("F-67")
async def test_a_session_ends_with_its_key_and_when_its_person_leaves(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        by_key, by_link = await visitor_with_key(at, AccessRole.REVIEWER), await visitor(at)
        page = await by_link.get("/admin/conflicts")
        left = await by_link.press(page, "Log out")
        (key,) = [key for key in await load_api_keys(at.app.store) if key.name == "reviewer-*"]
        before = (await by_key.get("/admin/conflicts")).status
        await withdraw_key(at.app, key, by="test")

        assert left.status == 303
        assert (await by_link.get("/admin/conflicts")).status == 401
        assert (before, (await by_key.get("/admin/conflicts")).status) == (200, 401)


@pytest.mark.requirement("U-13")
async def test_a_session_may_do_what_its_role_may(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        admin, agent = (await visitor_with_key(at, AccessRole.ADMIN), await visitor_with_key(at, AccessRole.AGENT))
        nobody = "018f3a5e-7b21-7000-8000-000000000001"
        seen = {
            name: [
                (await person.get("/admin/conflicts")).status,
                (await person.post(f"/admin/conflicts/{nobody}/decide", {"decision": "update"})).status,
                (await person.get("/admin/api/keys")).status,
            ]
            for name, person in (("admin", admin), ("agent", agent))
        }
        proxy = await enter(at, await at.new_key(AccessRole.PROXY))

    assert seen == {"admin": [200, 403, 200], "agent": [200, 403, 403]}
    assert proxy.status == 403


@pytest.mark.requirement("U-13")
async def test_a_session_of_one_space_sees_another_as_none(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("POST", "/admin/api/spaces", body={"name": "team"})
        await at.app.directory.reload()
        person = await visitor_with_key(at, AccessRole.REVIEWER, "team")

        assert (await person.get("/admin/conflicts")).status == 200
        assert (await person.get("/admin/conflicts?space=main")).status == 404


@pytest.mark.requirement("P-83")
@pytest.mark.parametrize(
    ("token", "origin", "status"),
    [
        ("own", ORIGIN, 303),
        ("own", None, 403),
        ("own", "http://localhost:3000", 403),
        ("own", "null", 403),
        ("other", ORIGIN, 403),
        ("none", ORIGIN, 403),
    ],
    ids=["own page", "no origin", "another port", "hidden origin", "token of another session", "no token"],
)
async def test_a_change_by_cookie_needs_our_own_page_and_the_token_of_the_session(
    token: str, origin: str | None, status: int, database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        person, other = await visitor(at, "ann"), await visitor(at, "bob")
        tokens = {"own": await token_of(person), "other": await token_of(other), "none": ""}
        got = await person.post("/admin/resolve", {"token": tokens[token]}, origin=origin)

        assert got.status == status
        runs = (await at.ask("GET", "/admin/api/jobs?name=resolve_space")).json["items"]
        assert len(runs) == (1 if status == 303 else 0)


async def token_of(person: Visitor) -> str:
    return forms_of(await person.get("/admin/conflicts"))[0].fields["token"]


@pytest.mark.requirement("P-83")
async def test_the_api_takes_a_session_with_its_token_in_a_header(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        person = await visitor(at)
        headers = {"cookie": f"{COOKIE}={person.cookie}", "origin": ORIGIN}
        without = await at.ask("POST", "/admin/api/resolve/run", key=None, headers=headers)
        token = {"x-festinger-token": await token_of(person)}
        given = await at.ask("POST", "/admin/api/resolve/run", key=None, headers=headers | token)

    assert (without.status, given.status) == (403, 202)


@pytest.mark.requirement("P-83")
@pytest.mark.parametrize("header", ["origin", "sec-fetch-site"])
async def test_a_page_in_a_browser_changes_nothing_without_a_session(header: str, database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        fact = {"fact": "gnommoweb -isa repo"}
        page = await at.ask("POST", "/iknowthat", key=None, body=fact, headers={header: "http://localhost:3000"})
        program = await at.ask("POST", "/iknowthat", key=None, body=fact)
        reading = await at.ask("GET", "/conflicts", key=None, headers={header: "http://localhost:3000"})

    assert (page.status, program.status, reading.status) == (401, 201, 200)


@pytest.mark.requirement("F-67")
async def test_logging_in_is_not_taken_from_another_site(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        link = await at.app.logins.invite("ann")

        assert (await enter(at, link, origin="http://localhost:3000")).status == 403
        assert (await enter(at, link, origin=None)).status == 403
        assert (await enter(at, link)).status == 303


async def test_whoever_is_not_known_is_asked_to_log_in_and_comes_back_to_the_page(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("GET", "/admin/world?concept=dobby", key=None)

    assert got.status == 401
    assert "festinger login" in got.text
    assert [form.fields["next"] for form in forms_of(got)] == ["/admin/world?concept=dobby"]


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ("/admin", "/admin"),
        ("/admin/conflicts?done=1", "/admin/conflicts?done=1"),
        ("/administrator", "/admin"),
        ("//evil.example", "/admin"),
        ("https://evil.example/admin", "/admin"),
        ("/admin/\\evil.example", "/admin"),
        ("/admin/\r\nset-cookie: x=y", "/admin"),
        ("", "/admin"),
    ],
    ids=["start", "page", "like ours", "no scheme", "foreign", "backslash", "line break", "empty"],
)
def test_after_logging_in_one_goes_on_to_a_page_of_ours_only(given: str, there: str):
    assert safe_redirect_path(given) == there


@given(st.text(max_size=60))
def test_wherever_one_goes_on_to_it_is_ours(path: str):
    assert safe_redirect_path(path).startswith("/admin")


async def test_wrong_tries_of_one_address_keep_nobody_else_out(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        link = await at.app.logins.invite("ann")
        wrong = [(await enter(at, "fsl_wrong", caller=BEYOND)).status for _ in range(6)]
        other = await enter(at, link, caller="192.0.2.8")

    assert wrong == [401] * 5 + [429]
    assert other.status == 303


async def test_behind_a_reverse_proxy_on_this_machine_tries_count_for_who_speaks_to_it(
    database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        link = await at.app.logins.invite("ann")
        wrong = [(await enter(at, "fsl_wrong", caller=HERE, via="9.9.9.9, 192.0.2.7")).status for _ in range(6)]
        other = await enter(at, link, caller=HERE, via="192.0.2.8")
        refused = await told(at.app, "login_refused")

    assert wrong == [401] * 5 + [429]
    assert other.status == 303
    assert {event.payload["address"] for event in refused} == {"192.0.2.7"}


async def test_a_caller_beyond_this_machine_cannot_name_another_address(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        wrong = [(await enter(at, "fsl_wrong", caller=BEYOND, via=f"192.0.2.{number}")).status for number in range(6)]

    assert wrong == [401] * 5 + [429]
