"""Which kinds of secret are known, and what do they look like?

A table: each kind has anchors (lower-case words of which a text must hold one, so that most texts are done
after a plain search), a pattern for an engine that never backtracks, and where the shape alone says too little,
a claim that the found value must bear out. The group `secret` is what is taken out; without one it is all of
it. Kinds that come first have the first say.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import re2

from festinger.text import secret_checks as checks

Claim = Callable[["Sighting"], bool]
Sighting = checks.Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of secret."""

    name: str
    anchors: tuple[bytes, ...]
    pattern: Any
    claim: Claim


def kind_of(name: str, anchors: str, pattern: str, claim: Claim = checks.anything) -> Kind:
    """Anchors are given as words with a space between; none means that every text is searched."""
    return Kind(
        name=name,
        anchors=tuple(word.encode() for word in anchors.lower().split()),
        pattern=re2.compile(pattern.encode()),
        claim=claim,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Kinds that are looked for together, with the two searches that most texts do not pass."""

    kinds: tuple[Kind, ...]
    anchors: tuple[bytes, ...]
    anchored: Any
    """One search that tells which anchors a text holds, by their numbers."""
    unanchored: Any
    """One search for the kinds that have no anchor."""


def table_of(*kinds: Kind) -> Table:
    anchors = tuple(dict.fromkeys(anchor for kind in kinds for anchor in kind.anchors))
    return Table(
        kinds=kinds,
        anchors=anchors,
        anchored=_all_at_once(anchors),
        unanchored=re2.compile(b"|".join(kind.pattern.pattern for kind in kinds if not kind.anchors)),
    )


def _all_at_once(anchors: Iterable[bytes]) -> Any:
    search = re2.Set.SearchSet()
    for anchor in anchors:
        search.Add(re2.escape(anchor))
    search.Compile()
    return search


_BLOCK = r"PRIVATE KEY(?: BLOCK)?-----"
_OPENERS = r"pass(?:word|wd|phrase|code)|pwd|kennwort|passwort|mot_de_passe"
_KEY_NAMES = (
    r"(?:[a-z0-9]{1,24}[_-]){0,3}(?:secret(?:[_-]?(?:key|token))?|api[_-]?key|apikey|access[_-]?key|auth[_-]?key"
    r"|private[_-]?key|encryption[_-]?key|signing[_-]?key|(?:access|auth|refresh|bearer|session|id|bot|api)[_-]?token"
    r"|token|credentials?)"
)
_SETS = r"[\"']?\s{0,4}(?::=|=>|=|:)\s{0,4}"
_VALUE = r"(?P<secret>\"[^\"\n]{1,300}\"|'[^'\n]{1,300}'|[^\s\"'`,;&<>(){}|]{1,300})"

SECRETS = table_of(
    # keys in blocks
    kind_of(
        "private_key",
        "-----begin",
        rf"-----BEGIN [A-Z0-9 ]{{0,40}}{_BLOCK}[\s\S]*?-----END [A-Z0-9 ]{{0,40}}{_BLOCK}",
    ),
    # Cut off before its end, perhaps with its line breaks written as `\n`.
    kind_of(
        "private_key",
        "-----begin",
        rf"-----BEGIN [A-Z0-9 ]{{0,40}}{_BLOCK}(?:(?:\\[nr]|\s)*[A-Za-z0-9+/=]{{16,}})+",
    ),
    kind_of(
        "putty_key",
        "private-lines",
        r"Private-Lines: \d+\s+(?P<secret>(?:[A-Za-z0-9+/]{64}\s+)*[A-Za-z0-9+/=]{16,64})",
    ),
    kind_of("age_key", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    # model providers
    kind_of("anthropic_key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    kind_of("openrouter_key", "sk-or-", r"\bsk-or-[A-Za-z0-9_-]{16,}"),
    kind_of("openai_key", "sk-", r"\bsk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})"),
    kind_of("google_key", "aiza", r"\bAIza[A-Za-z0-9_-]{35,}"),
    kind_of("groq_key", "gsk_", r"\bgsk_[A-Za-z0-9]{32,}"),
    kind_of("huggingface_token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    kind_of("perplexity_key", "pplx-", r"\bpplx-[A-Za-z0-9]{32,}"),
    kind_of("replicate_token", "r8_", r"\br8_[A-Za-z0-9]{30,}"),
    kind_of("xai_key", "xai-", r"\bxai-[A-Za-z0-9]{40,}"),
    # clouds
    kind_of("aws_access_key", "akia asia abia acca", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    kind_of(
        "azure_key",
        "accountkey= sharedaccesskey=",
        r"(?i)\b(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{32,}={0,2})",
    ),
    kind_of("azure_signature", "sig=", r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/=_-]{32,})"),
    kind_of(
        "google_oauth",
        "ya29. gocspx- 1//0",
        r"\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}|\b1//0[A-Za-z0-9_-]{30,}",
    ),
    kind_of("digitalocean_token", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{40,}"),
    kind_of("databricks_token", "dapi", r"\bdapi[0-9a-f]{32}(?:-\d)?\b"),
    kind_of("vault_token", "hvs. hvb. hvr.", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    # code and packages
    kind_of(
        "github_token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}",
    ),
    kind_of(
        "gitlab_token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat-",
        r"\bgl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_.-]{20,}",
    ),
    kind_of("npm_token", "npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
    kind_of("pypi_token", "pypi-ag", r"\bpypi-Ag[A-Za-z0-9_-]{40,}"),
    kind_of("docker_token", "dckr_", r"\bdckr_[a-z]{3}_[A-Za-z0-9_-]{20,}"),
    kind_of("atlassian_token", "atatt3", r"\bATATT3[A-Za-z0-9_=-]{40,}"),
    kind_of("postman_key", "pmak-", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    # services
    kind_of(
        "slack_token",
        "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
        r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
    ),
    kind_of(
        "slack_webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    ),
    kind_of(
        "discord_webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d+/[A-Za-z0-9_-]{20,})",
    ),
    kind_of(
        "discord_token",
        "",
        r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        checks.is_discord_token,
    ),
    kind_of("telegram_token", ":aa", r"\b\d{8,10}:AA[A-Za-z0-9_-]{32,}"),
    kind_of(
        "stripe_key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}",
    ),
    kind_of("square_token", "sq0", r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}"),
    kind_of("shopify_token", "shpat_ shpca_ shppa_ shpss_", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}"),
    kind_of("twilio_key", "", r"\bSK[0-9a-f]{32}\b"),
    kind_of("sendgrid_key", "sg.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    kind_of("mailgun_key", "key-", r"\bkey-[0-9a-f]{32}\b"),
    kind_of("mailchimp_key", "", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    kind_of("notion_token", "ntn_ secret_", r"\b(?:ntn_|secret_)[A-Za-z0-9]{40,}"),
    kind_of("linear_key", "lin_api_", r"\blin_api_[A-Za-z0-9]{32,}"),
    kind_of("newrelic_key", "nrak-", r"\bNRAK-[A-Z0-9]{20,}"),
    kind_of("grafana_token", "glc_ glsa_", r"\bgl(?:c|sa)_[A-Za-z0-9+/=_]{30,}"),
    kind_of("sentry_token", "sntrys_ sntryu_", r"\bsntry[su]_[A-Za-z0-9+/=_]{30,}"),
    kind_of("festinger_key", "fst_", r"\bfst_[A-Za-z0-9_-]{20,}"),
    # of any origin
    kind_of("jwt", "eyj", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    kind_of(
        "connection_string",
        "://",
        r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\"'<>]{0,200}:(?P<secret>[^\s/@\"'<>]{1,200})@",
        checks.is_written_out,
    ),
    kind_of(
        "bearer_token",
        "bearer",
        r"(?i)\bbearer[\s\"':=]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        checks.is_mixed,
    ),
    kind_of(
        "basic_auth", "basic", r"(?i)\bbasic\s+(?P<secret>[A-Za-z0-9+/]{8,}={0,2})", checks.is_basic_auth
    ),
    kind_of(
        "authorization",
        "authorization",
        r"(?i)\bauthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[a-z]{3,12}\s+)?(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        checks.is_mixed,
    ),
    kind_of("otp_secret", "otpauth://", r"(?i)otpauth://[^\s\"']{0,200}[?&]secret=(?P<secret>[A-Z2-7]{8,})"),
    kind_of(
        "password",
        "pass pwd kennwort mot_de_passe",
        rf"(?i)(?:\b|_)(?:{_OPENERS}){_SETS}{_VALUE}",
        checks.is_assigned_password,
    ),
    kind_of("password", "pass pwd", rf"(?i)--(?:{_OPENERS})[ =]{_VALUE}", checks.is_assigned_password),
    kind_of(
        "password",
        "pass pwd",
        r"(?i)\b(?:password|passwort|passphrase|passcode|pwd) (?:is|ist|was|lautet)(?: now)?:? " + _VALUE,
        checks.is_mixed,
    ),
    kind_of(
        "api_key",
        "secret key token credential",
        rf"(?i)\b{_KEY_NAMES}{_SETS}{_VALUE}",
        checks.is_assigned_key,
    ),
    kind_of("card_number", "", r"\d(?:[ -]?\d){12,18}", checks.is_card_number),
)
"""Every kind; a name may stand more than once when a secret is written in several ways."""

NAMES = tuple(dict.fromkeys(kind.name for kind in SECRETS.kinds))
