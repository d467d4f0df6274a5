"""Finds the model of a server on this machine or in the own network."""

from typing import Any

import httpx2

from festinger.text.addresses import is_private_url

LOOK_SECONDS = 2.0


async def find_local_model(*, ollama: str, openai: str) -> tuple[str, str, str] | None:
    """Return provider, model and address of a local model; none if no local server has one.

    Ollama tells which model is in use and what it can do; of other servers the first model is taken.
    """
    async with httpx2.AsyncClient(timeout=LOOK_SECONDS, follow_redirects=False, trust_env=False) as client:
        if is_private_url(ollama):
            for path in ("ps", "tags"):
                for each in await _list(client, "GET", f"{ollama}/api/{path}", "models"):
                    name = each.get("name") if isinstance(each, dict) else None
                    able = await _list(client, "POST", f"{ollama}/api/show", "capabilities", model=name)
                    if name and "completion" in able:
                        return "ollama", str(name), ollama
        if is_private_url(openai):
            for each in await _list(client, "GET", f"{openai}/v1/models", "data"):
                if isinstance(each, dict) and each.get("id"):
                    return "openai", str(each["id"]), f"{openai}/v1"
    return None


async def _list(client: httpx2.AsyncClient, method: str, url: str, field: str, **body: Any) -> list[Any]:
    """Return a list that a server answers with; an empty one if it does not."""
    try:
        answer = await client.request(method, url, json=body or None)
        found = answer.json() if answer.is_success else None
    except (httpx2.HTTPError, ValueError):
        return []
    listed = found.get(field) if isinstance(found, dict) else None
    return listed if isinstance(listed, list) else []
