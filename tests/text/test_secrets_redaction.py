"""What in this text is a secret?"""

import base64
import hashlib
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from festinger.text.secrets import SECRETS, redact, remove_secrets

FAKE = "Zx9Fake0Canary7Not1Real3"
"""Stands in every canary, so that nobody takes one for a real key."""


def fake(length: int, alphabet: str = "") -> str:
    """Made-up characters of a given number, all from `alphabet` if one is given."""
    source = alphabet or FAKE
    return (source * (length // len(source) + 1))[:length]


HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
CAPITALS = "FAKECANARY234567NOTREAL"
BLOCK = "\n".join(fake(64) for _ in range(3))

# Each kind with texts that hold one secret, and the secret. They are put together here so that none of them
# stands in this file as a whole.
CANARIES: dict[str, list[tuple[str, str]]] = {
    "private_key": [
        (f"-----BEGIN RSA PRIVATE KEY-----\n{BLOCK}\n-----END RSA PRIVATE KEY-----", BLOCK),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BLOCK}\n-----END OPENSSH PRIVATE KEY-----", BLOCK),
        (f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BLOCK}\n-----END PGP PRIVATE KEY BLOCK-----", BLOCK),
        (
            f"-----BEGIN EC PRIVATE KEY-----\nDEK-Info: AES-128-CBC\n\n{BLOCK}\n-----END EC PRIVATE KEY-----",
            BLOCK,
        ),
        (f"-----BEGIN PRIVATE KEY-----\n{BLOCK}", BLOCK),
        ("-----BEGIN PRIVATE KEY-----\\n" + BLOCK.replace("\n", "\\n"), fake(64)),
    ],
    "putty_key": [(f"Private-Lines: 3\n{BLOCK}", BLOCK)],
    "age_key": [("AGE-SECRET-KEY-1" + fake(58, CAPITALS),) * 2],
    "anthropic_key": [("sk-ant-" + "api03-" + fake(80),) * 2],
    "openrouter_key": [("sk-or-" + "v1-" + fake(64, HEX),) * 2],
    "openai_key": [("sk-" + "proj-" + fake(60),) * 2, ("sk-" + fake(48),) * 2],
    "google_key": [("AIza" + fake(35),) * 2],
    "groq_key": [("gsk_" + fake(52),) * 2],
    "huggingface_token": [("hf_" + fake(34),) * 2],
    "perplexity_key": [("pplx-" + fake(48),) * 2],
    "replicate_token": [("r8_" + fake(37),) * 2],
    "xai_key": [("xai-" + fake(80),) * 2],
    "aws_access_key": [("AKIA" + fake(16, CAPITALS),) * 2, ("ASIA" + fake(16, CAPITALS),) * 2],
    "azure_key": [("DefaultEndpointsProtocol=https;AccountKey=" + fake(86) + "==", fake(86))],
    "azure_signature": [("https://x.example/blob?sv=2024&sig=" + fake(40) + "%3D", fake(40))],
    "google_oauth": [("ya29." + fake(60),) * 2, ("GOCSPX-" + fake(28),) * 2],
    "digitalocean_token": [("dop_v1_" + fake(64, HEX),) * 2],
    "databricks_token": [("dapi" + fake(32, HEX),) * 2],
    "vault_token": [("hvs." + fake(90),) * 2],
    "github_token": [("ghp_" + fake(36),) * 2, ("github_pat_" + fake(82),) * 2],
    "gitlab_token": [("glpat-" + fake(20),) * 2],
    "npm_token": [("npm_" + fake(36),) * 2],
    "pypi_token": [("pypi-AgEI" + fake(80),) * 2],
    "docker_token": [("dckr_pat_" + fake(27),) * 2],
    "atlassian_token": [("ATATT3" + fake(180),) * 2],
    "postman_key": [("PMAK-" + fake(24, HEX) + "-" + fake(34, HEX),) * 2],
    "slack_token": [("xoxb-" + "123456789012-" + fake(24),) * 2, ("xapp-" + "1-" + fake(40),) * 2],
    "slack_webhook": [("https://hooks.slack.com/services/T0FAKE/B0FAKE/" + fake(24), fake(24))],
    "discord_webhook": [("https://discord.com/api/webhooks/123456789/" + fake(68), fake(68))],
    "discord_token": [
        (base64.b64encode(b"123456789012345678").decode() + ".Gfake0." + fake(38),) * 2,
    ],
    "telegram_token": [("123456789:AA" + fake(33),) * 2],
    "stripe_key": [("sk_" + "live_" + fake(24),) * 2, ("whsec_" + fake(32),) * 2],
    "square_token": [("sq0atp-" + fake(22),) * 2],
    "shopify_token": [("shpat_" + fake(32, HEX),) * 2],
    "twilio_key": [("SK" + fake(32, HEX),) * 2],
    "sendgrid_key": [("SG." + fake(22) + "." + fake(43),) * 2],
    "mailgun_key": [("key-" + fake(32, HEX),) * 2],
    "mailchimp_key": [(fake(32, HEX) + "-us12",) * 2],
    "notion_token": [("ntn_" + fake(46),) * 2, ("secret_" + fake(43),) * 2],
    "linear_key": [("lin_api_" + fake(40),) * 2],
    "newrelic_key": [("NRAK-" + fake(27, CAPITALS),) * 2],
    "grafana_token": [("glsa_" + fake(41),) * 2],
    "sentry_token": [("sntrys_" + fake(60),) * 2],
    "festinger_key": [("fst_" + fake(43),) * 2],
    "jwt": [("eyJ" + fake(30) + ".eyJ" + fake(60) + "." + fake(43),) * 2],
    "connection_string": [
        ("postgres://app:" + FAKE + "@db.example:5432/main", FAKE),
        ("redis://:" + FAKE + "@cache.example/0", FAKE),
        ("amqps://svc:" + FAKE + "@mq.example", FAKE),
    ],
    "bearer_token": [("Authorization: Bearer " + fake(40), fake(40)), ("bearer " + fake(24), fake(24))],
    "basic_auth": [("Authorization: Basic " + base64.b64encode(b"app:" + FAKE.encode()).decode(),) * 2],
    "authorization": [("Authorization: ApiKey " + fake(30), fake(30)), ('"authorization": "' + fake(30), fake(30))],
    "otp_secret": [("otpauth://totp/x?secret=" + fake(16, CAPITALS) + "&issuer=x", fake(16, CAPITALS))],
    "password": [
        ("password=" + FAKE, FAKE),
        ("PASSWORD: hunter2canary", "hunter2canary"),
        ("password: swordfishcanary", "swordfishcanary"),
        ('{"password": "swordfish"}', "swordfish"),
        ("DB_PASSWORD='" + FAKE + "'", FAKE),
        ("host=h password=" + FAKE + " dbname=x", FAKE),
        ("mysql --password " + FAKE, FAKE),
        ("Server=x;User Id=u;Pwd=" + FAKE + ";", FAKE),
        ("my password is " + FAKE + ", keep it", FAKE),
        ("passwd := \"" + FAKE + '"', FAKE),
        ("https://x.example/login?user=a&password=" + FAKE + "&next=b", FAKE),
    ],
    "api_key": [
        ("api_key=" + FAKE, FAKE),
        ("X-Api-Key: " + FAKE, FAKE),
        ('"client_secret": "' + FAKE + '"', FAKE),
        ("AWS_SECRET_ACCESS_KEY=" + fake(40), fake(40)),
        ("access_token: '" + FAKE + "'", FAKE),
        ("MYAPP_TOKEN=" + FAKE, FAKE),
        ("?token=" + FAKE + "&x=1", FAKE),
    ],
    "card_number": [
        ("4111 1111 1111 1111",) * 2,
        ("5500-0000-0000-0004",) * 2,
        ("378282246310005",) * 2,
        ("6011111111111117",) * 2,
    ],
}  # fmt: skip

PLANTED = [(kind, text, secret) for kind, samples in CANARIES.items() for text, secret in samples]

BENIGN = [
    str(uuid.UUID(int=0x018F3A5E7B2C7D109A3E5C6F8B1D2E4F)),
    hashlib.md5(b"x").hexdigest(),
    hashlib.sha1(b"x").hexdigest(),
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    "commit " + hashlib.sha1(b"y").hexdigest() + " fixes it",
    "sha512-" + base64.b64encode(hashlib.sha512(b"z").digest()).decode(),
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 8).decode(),
    "ssh-rsa AAAAB3NzaC1yc2E" + fake(200) + " me@example",
    "-----BEGIN PUBLIC KEY-----\n" + BLOCK + "\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\n" + BLOCK + "\n-----END CERTIFICATE-----",
    "password = read_password()",
    "password: str | None = None",
    "password: SecretStr\n",
    "def login(user: str, password: str) -> Token:",
    "login(user=user, password=password)",
    "login(user=user, password=pw, retries=3)",
    "password = os.environ['DB_PASSWORD']",
    "password=auth[1])",
    "token = parts[2]",
    "token = self.token",
    "token: string",
    "max_tokens: 4096",
    "tokens=61; notes=3",
    "next_token = tokens[i + 1]",
    "api_key=os.getenv('API_KEY')",
    "api_key: <your-api-key>",
    "api_key = ${API_KEY}",
    "API_KEY=xxxxxxxxxxxxxxxx",
    "password: ********",
    "password: required",
    "Password: must have at least eight characters",
    "The password is required.",
    "Forgot your password? Reset it here: https://example.org/reset",
    "the secret of good tea is patience",
    "The bearer of good news arrived on Monday afternoon",
    "Basic principles of software architecture",
    "primary key: customer_id",
    "key: value",
    "foreign key (space_id, memory_id)",
    "task-0123456789abcdef0123456789abcdef",
    "risk-assessment-for-the-new-building-on-main-street",
    "https://example.org:8443/path?next=a@b",
    "http://127.0.0.1:11435/admin/api/jobs?state=dead&limit=50",
    "git@github.com:example/example.git",
    "mailto:somebody@example.org",
    "1234567890123456",
    "4111111111111112",
    "order 4111-1111-1111-11119",
    "0.4111111111111111",
    "1700000000000000 ns since 1970",
    "phone +49 30 1234567 or 555-0100",
    "2026-01-05T12:00:00.123456Z 2026-01-05T12:00:01.123456Z",
    "0000 0000 0000 0000",
    "3.14159265358979323846264338327950288419716939937510",
    "ISBN 978-3-16-148410-0",
    "eyJ is how every JSON web token begins",
    "SKU SK1234, AC adapter, key-value store, sq0 and hf_ are prefixes",
    "from festinger.text.secrets import redact",
    "const tokenizer = new Tokenizer({ vocab: 'cl100k_base' });",
    "x.y.z = M.abc.def + N.foo.bar",
    "[redacted:password] and password=[redacted:password]",
]


def test_every_kind_has_a_canary():
    names = {kind.name for kind in SECRETS.kinds}

    assert set(CANARIES) == names
    assert len(names) >= 40


@pytest.mark.parametrize(
    ("kind", "text", "secret"), PLANTED, ids=[f"{kind}-{n}" for n, (kind, *_) in enumerate(PLANTED)]
)
def test_a_planted_secret_gives_way_to_the_name_of_its_kind(kind: str, text: str, secret: str):
    result = redact(f"before\n{text}\nafter")

    assert secret not in result.text
    assert f"[redacted:{kind}]" in result.text
    assert kind in result.kinds
    assert result.text.startswith("before\n")
    assert result.text.endswith("\nafter")


@pytest.mark.parametrize("text", BENIGN)
def test_what_only_looks_like_a_secret_stays(text: str):
    assert redact(text).text == text
    assert redact(f"see {text} here").text == f"see {text} here"


def test_what_stands_around_a_secret_stays():
    text = f"psql 'host=db.example password={FAKE} dbname=main' # then\n"

    assert redact(text).text == "psql 'host=db.example password=[redacted:password] dbname=main' # then\n"
    assert redact(f'{{"api_key": "{FAKE}", "n": 1}}').text == '{"api_key": "[redacted:api_key]", "n": 1}'


def test_each_kind_is_named_once_in_the_order_of_sight():
    text = f"password={FAKE}\npostgres://a:{FAKE}@h/d\npassword={FAKE}1"

    assert redact(text).kinds == ("password", "connection_string")
    assert remove_secrets(text) == redact(text).text


def test_secrets_that_overlap_leave_nothing_between_them():
    inner = "sk-" + "proj-" + fake(40)

    assert redact(f"password=a1!{inner}!b2").text == "password=[redacted:openai_key]"


OUTSIDE = st.text(alphabet=" \n\té漢🎉.,!?()<>", max_size=40)


@given(planted=st.sampled_from(PLANTED), before=OUTSIDE, after=OUTSIDE)
@settings(max_examples=300)
def test_a_secret_is_gone_wherever_a_text_is_split_to_take_it_in(
    planted: tuple[str, str, str], before: str, after: str
):
    _, text, secret = planted
    result = redact(f"{before}\n{text}\n{after}")

    assert secret not in result.text
    assert result.text.startswith(before)
    assert result.text.endswith(after)


NEAR_SECRETS = st.lists(
    st.one_of(
        st.sampled_from([text for _, text, _ in PLANTED] + BENIGN),
        st.sampled_from(["password=", "token: ", "'", '"', "://a:", "@", "[redacted:", "]", "sk-", "4111"]),
        st.text(max_size=8),
    ),
    max_size=6,
).map("".join)


@given(NEAR_SECRETS)
@settings(max_examples=300)
def test_redacting_twice_is_redacting_once(text: str):
    once = redact(text)

    assert redact(once.text).text == once.text
    assert redact(once.text).kinds == ()


@given(st.text())
def test_any_text_comes_back_whole_or_with_a_mark(text: str):
    result = redact(text)

    assert (result.text == text) == (not result.kinds)


@given(st.lists(st.sampled_from(SECRETS.anchors)), st.integers(0, 3))
def test_every_anchor_that_a_text_holds_is_seen_at_once(held: list[bytes], spread: int):
    text = (b"some words " * 1000 * spread).join([b"", *held, b""])

    seen = {SECRETS.anchors[number] for number in SECRETS.anchored.Match(text) or ()}

    assert seen == {anchor for anchor in SECRETS.anchors if anchor in text}


def test_a_text_with_all_anchors_hides_none_of_its_secrets():
    every = b" ".join(SECRETS.anchors * 50).decode()
    secret = f"sk-ant-{fake(40)}"

    assert secret not in remove_secrets(f"{every} {secret} {every}")
