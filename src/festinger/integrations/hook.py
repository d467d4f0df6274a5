"""`festinger-hook TOOL FOLDER`: passes a coding agent's event to the running server and prints its answer.

A person waits for this at each prompt, so it imports next to nothing, ends after `TOTAL_SECONDS` at the latest, and
exits with 0 and no output whatever goes wrong. FOLDER holds `connection.json`, which `festinger connect` wrote,
and beside it `server.json` of a running server, whose address goes first because its port may have changed. Each run
adds one letter to the tool's tally, which `festinger connect status` counts: only this process knows whether an
answer came in time.
"""

import json
import os
import signal
import socket
import sys
import time

TOTAL_SECONDS = 0.27
"""From the start of the process; it ends a little later, and a prompt is delayed by 300 ms at most."""
START_SECONDS = 0.07
"""How long an interpreter takes to start, where the system does not tell."""
TOTAL_VARIABLE = "FESTINGER_HOOK_SECONDS"
"""Environment variable with another total."""
MOST_CHARS = 2**17
"""Longer texts are cut in the middle: a server takes 1 MB of JSON."""
LONGEST_NAME = 200

EVENTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "PreCompact": "close",
    "SessionEnd": "close",
    "sessionStart": "start",
    "beforeSubmitPrompt": "prompt",
    "afterAgentResponse": "reply",
    "stop": "stop",
    "preCompact": "close",
    "sessionEnd": "close",
}
"""What the server is told, by the tool's own name of the event; the lower-case ones are Cursor's."""
ANSWERED, ABSTAINED, CAPTURED, LATE, UNREACHED, FAILED = b"a", b"n", b"c", b"l", b"u", b"f"


def main() -> None:
    try:
        _run()
    finally:
        os._exit(0)  # whatever happened, and before a traceback: nothing of ours may disturb the agent's session


def _run() -> None:
    signal.signal(signal.SIGALRM, _raise_timeout)
    total = float(os.environ.get(TOTAL_VARIABLE) or TOTAL_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, max(total - _seconds_since_start(), 0.001))
    outcome = FAILED
    try:
        tool, folder = sys.argv[1:3]
        payload = json.loads(sys.stdin.buffer.read())
        told = build_request(tool, payload)
        output = format_answer(tool, payload, _ask(folder, told))
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.write(1, output.encode())
        outcome = ANSWERED if output else ABSTAINED if told["event"] in ("start", "prompt") else CAPTURED
    except TimeoutError:
        outcome = LATE
    except (ConnectionError, FileNotFoundError):
        outcome = UNREACHED
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        tally = os.open(f"{sys.argv[2]}/{sys.argv[1]}.tally", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(tally, outcome)


def build_request(tool: str, payload: dict[str, object]) -> dict[str, object]:
    """Build what the server is told of an event, from the tool's own fields."""
    roots = payload.get("workspace_roots") or [os.getcwd()]  # noqa: PTH109 - pathlib takes longer than all of this
    text = payload.get("prompt") or payload.get("last_assistant_message") or payload.get("text") or ""
    return {
        "tool": tool,
        "event": EVENTS[str(payload["hook_event_name"])],
        "session": str(payload.get("session_id") or payload["conversation_id"])[:LONGEST_NAME],
        "agent": find_project_agent(str(payload.get("cwd") or roots[0])),  # type: ignore[index]
        "model": str(payload.get("model") or "")[:LONGEST_NAME],
        "text": _cut(str(text)),
    }


def find_project_agent(folder: str) -> str:
    """The agent of a folder: the root of its git repository, which all worktrees share; else the folder."""
    here = start = os.path.realpath(folder)
    while True:
        mark = os.path.join(here, ".git")  # noqa: PTH118
        if os.path.isdir(mark):  # noqa: PTH112
            return here[-LONGEST_NAME:]
        if os.path.isfile(mark):  # noqa: PTH113
            with open(mark, encoding="utf-8") as file:  # noqa: PTH123
                target = file.read().partition("gitdir:")[2].strip()
            common, is_worktree, _ = os.path.join(here, target).rpartition("/worktrees/")  # noqa: PTH118
            own = os.path.realpath(common).removesuffix("/.git") if is_worktree else here
            return own[-LONGEST_NAME:]
        above = os.path.dirname(here)  # noqa: PTH120
        if above == here:
            return start[-LONGEST_NAME:]
        here = above


def format_answer(tool: str, payload: dict[str, object], text: str) -> str:
    """Format what the tool reads on stdout; nothing if there is nothing to say."""
    if not text:
        return ""
    if tool == "cursor":
        return json.dumps({"additional_context": text})
    name = payload["hook_event_name"]
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})


def _seconds_since_start() -> float:
    """How long ago this process began: on a busy machine the interpreter alone may take most of the time."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:  # noqa: PTH123
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return START_SECONDS


def _raise_timeout(*_: object) -> None:
    raise TimeoutError


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARS:
        return text
    return f"{text[: MOST_CHARS // 2]}\n[cut here: the text was longer]\n{text[-MOST_CHARS // 2 :]}"


def _ask(folder: str, told: dict[str, object]) -> str:
    """Post the event; return the text to show."""
    with open(f"{folder}/connection.json", encoding="utf-8") as file:  # noqa: PTH123
        connection = json.load(file)
    try:
        with open(f"{folder}/../server.json", encoding="utf-8") as file:  # noqa: PTH123
            url = json.load(file)["url"]
    except OSError:
        url = connection["url"]
    host, _, port = url.partition("://")[2].rpartition(":")
    body = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
    head = (
        f"POST /admin/api/hooks HTTP/1.1\r\nHost: {host}:{port}\r\nX-Festinger-Key: {connection['key']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    bare = host.strip("[]")
    with socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET) as line:
        line.connect((bare, int(port)))
        line.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    status, _, content = answer.partition(b"\r\n\r\n")
    if status.split(b" ", 2)[1] != b"200":
        raise ValueError(status)
    return str(json.loads(content)["text"])


if __name__ == "__main__":
    main()
