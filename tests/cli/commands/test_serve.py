"""The server as a real process: it answers first, and it leaves nothing behind."""

import asyncio
import json
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from tests.cli.shell import PATIENCE_S, Shell, free_port

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


class Models(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "13")
        self.end_headers()
        self.wfile.write(b'{"models":[]}')

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def models() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Models)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.requirement("X-105", "P-01", "X-95")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_asked_to_stop_leaves_in_order(number: signal.Signals, shell: Shell):
    with models() as upstream, shell.server("--upstream", upstream) as served:
        served.wait_until("/admin/readyz", 200)
        forwarded = served.ask("/api/tags")
        code = served.stop(number)
        out, _ = served.process.communicate(timeout=PATIENCE_S)
        said = served.log.read_text()

    assert forwarded[0] == 200
    assert forwarded[2] == b'{"models":[]}'
    assert (code, out) == (0, "")
    assert f"listens on http://127.0.0.1:{served.port}" in said
    assert shell("status", "--json").json["life"]["crashes"] == 0


@pytest.mark.requirement("X-106", "P-01")
def test_without_a_store_requests_pass_and_it_says_so(person, bare_shell: Shell):
    shell = Shell(home=person, database=NOWHERE)
    with models() as upstream, shell.server("--upstream", upstream) as served:
        served.wait_until("/api/tags", 200)
        served.wait_until("/admin/readyz", 503)
        status, headers, _body = served.ask("/api/chat")
        code = served.stop()

    assert status == 200
    assert "not-ready" in headers["x-festinger-memory"]
    assert code == 0


@pytest.mark.requirement("X-106")
@pytest.mark.parametrize("path", ["status", "settings", "jobs", "doctor", "worker", "backup x.dump"])
def test_every_other_command_ends_without_a_store(path: str, person):
    said = Shell(home=person, database=NOWHERE)(*path.split())

    assert said.code == 5
    assert said.err if path != "doctor" else "FAIL  store" in said.out


@pytest.mark.requirement("X-106", "P-01")
def test_a_taken_port_is_named_with_the_way_out(shell: Shell):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = shell.real("serve", "--port", str(port))

    assert said.code == 5
    message, hint = said.err.splitlines()
    assert message == f"Port {port} on 127.0.0.1 is already in use."
    assert "--port" in hint
    assert said.out == ""


@pytest.mark.requirement("P-80", "X-106")
def test_listening_beyond_this_machine_needs_a_key(shell: Shell):
    port = str(free_port())
    refused = shell("serve", "--host", "0.0.0.0", "--port", port)

    assert refused.code == 5
    assert "keys make" in refused.err


@pytest.mark.requirement("P-80")
def test_accepting_the_risk_is_logged_at_each_start(shell: Shell):
    with shell.server("--host", "0.0.0.0", "--insecure-bind", "--quiet") as served:
        served.wait_until("/admin/healthz", 200)
        assert served.stop() == 0
        first = json.loads(served.log.read_text().splitlines()[0])

    assert (first["event"], first["level"]) == ("anybody who reaches this server may use it", "warning")


@pytest.mark.requirement("X-106")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--upstream", "nonsense"], "proxy.upstream"),
        (["--port", "70000"], "server.port"),
        (["--config", "none.yaml"], "none.yaml"),
    ],
)
def test_wrong_settings_stop_the_start(arguments: list[str], says: str, shell: Shell):
    said = shell("serve", *arguments)

    assert said.code == 2
    assert says in said.err
    assert said.out == ""


@pytest.mark.requirement("X-105")
def test_the_second_signal_ends_requests_that_still_run(shell: Shell):
    async def story() -> tuple[int, bytes]:
        asked = asyncio.Event()

        async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await reader.read()
            writer.close()

        slow = await asyncio.start_server(never_answer, "127.0.0.1", 0)
        upstream = f"http://127.0.0.1:{slow.sockets[0].getsockname()[1]}"
        with shell.server("--upstream", upstream) as served:
            await asyncio.to_thread(served.wait_until, "/admin/readyz", 200)
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(b"GET /api/tags HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await asked.wait()
            served.process.terminate()
            await asyncio.to_thread(_wait_until_closed, served.port)
            served.process.terminate()
            code = await asyncio.to_thread(served.process.wait, PATIENCE_S)
            answer = await reader.read()
            writer.close()
        slow.close()
        return code, answer

    code, answer = asyncio.run(story())

    assert code == 128 + signal.SIGTERM
    assert answer == b""


def _wait_until_closed(port: int) -> None:
    """Return when nobody listens any more: the first signal has arrived."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
        except (ConnectionRefusedError, ConnectionResetError):
            return
