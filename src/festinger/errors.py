"""The error classes of Festinger, in one tree.

    FestingerError                    500  exit 1   an internal error
    ├── BadInput                      422  exit 2
    │   ├── BadDecision
    │   ├── BadFact                   400
    │   │   ├── RootSlot
    │   │   └── SelfParent
    │   ├── BadSetting
    │   ├── ProposalRefused
    │   ├── UnknownOutcome
    │   └── UnknownSetting            404
    ├── TooLarge                      413  exit 2
    ├── TooMany                       429  exit 5
    ├── NotFound                      404  exit 3
    │   ├── NoSuchConcept
    │   ├── NoSuchConflict
    │   ├── NoSuchCue
    │   └── NoSuchRun
    ├── Refused                       409  exit 4
    │   ├── AlreadyDecided
    │   ├── AlreadyRunning
    │   ├── EffectFailed
    │   ├── ModelInUse
    │   ├── NotProposable
    │   ├── OneByOne
    │   ├── Replayed
    │   ├── SettingPinned
    │   ├── Stale                     412
    │   │   └── Outdated              409
    │   ├── TooDeep
    │   ├── UndoBlocked
    │   └── Unseen
    ├── NotAuthenticated              401  exit 6
    │   └── BadSignature
    ├── NotAuthorised                 403  exit 6
    ├── Unavailable                   503  exit 5
    │   ├── Overloaded
    │   ├── ProviderDown
    │   ├── ProviderRefused           502
    │   │   └── PartlyEmbedded
    │   ├── SecretUnreadable
    │   ├── ServerAway
    │   └── StoreDown
    │       └── StoreBusy
    └── CannotStart                   503  exit 5
        ├── KeyFileExposed
        ├── MigrationChanged
        ├── NeedsKey
        ├── PortTaken
        ├── SchemaTooNew
        ├── StoreUnfit
        ├── Unwired
        └── WeightsUnfit

The docstring of a class is its default message to the user. `name` is the class name in snake case, `hint`
says what to do next. Each border (psycopg, HTTP, files) translates into this tree once, with `from`; nothing
else is caught on the way to an edge.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class FestingerError(Exception):
    """Something went wrong inside Festinger; the log has the details under this request id."""

    http: ClassVar[int] = 500
    exit: ClassVar[int] = 1
    default_hint: ClassVar[str] = "Run `festinger doctor`."
    retry_after: ClassVar[int | None] = None
    """Seconds after which a retry makes sense without fixing anything."""

    def __init__(self, message: str | None = None, *, hint: str | None = None, **details: Any) -> None:
        self.message = message or self.default_message()
        self.hint = hint or self.default_hint
        self.details = details
        super().__init__(self.message)

    @classmethod
    def default_message(cls) -> str:
        """The message used if the raiser gives none."""
        return " ".join((cls.__doc__ or cls.__name__).split())

    @classmethod
    def class_name(cls) -> str:
        return _snake(cls.__name__)

    @property
    def name(self) -> str:
        return self.class_name()

    def as_json(self, request_id: str | None = None) -> dict[str, Any]:
        """The body of every HTTP error response."""
        body: dict[str, Any] = {"name": self.name, "message": self.message, "hint": self.hint, "request_id": request_id}
        if self.details:
            body["details"] = self.details
        return {"error": body}


class BadInput(FestingerError):
    """What was given cannot be understood."""

    http = 422
    exit = 2
    default_hint = "Correct the input and try again."


class BadDecision(BadInput):
    """This cannot be decided so."""

    default_hint = "Look at the conflict; its type says which decisions there are."


class BadFact(BadInput):
    """This is not a fact in the form `X -isa Y in context of Z`."""

    http = 400
    default_hint = "Write it as `X -isa Y in context of Z` or `X -ispart Y in context of Z`."


class RootSlot(BadFact):
    """This would write the root of a dimension, which stands for the dimension itself."""

    default_hint = "Say it in another dimension."


class SelfParent(BadFact):
    """Nothing can be in itself."""


class BadSetting(BadInput):
    """A setting has a value that is not allowed."""

    default_hint = "`festinger settings list` shows each key with its meaning and bounds."


class ProposalRefused(BadInput):
    """This proposal cannot be taken."""

    default_hint = "Say what should change, in which scope, and why."


class UnknownOutcome(BadInput, ValueError):
    """This is no outcome."""

    default_hint = "The outcomes are acted, used, dismissed, deferred and contradicted."


class UnknownSetting(BadInput):
    """There is no such setting."""

    http = 404
    default_hint = "`festinger settings list` shows every key."


class TooLarge(FestingerError):
    """This is larger than the limit."""

    http = 413
    exit = 2
    default_hint = "Send less at once, or raise the limit in the settings."


class TooMany(FestingerError):
    """There are too many requests at once."""

    http = 429
    exit = 5
    default_hint = "Wait a moment and try again."


class NotFound(FestingerError):
    """There is nothing with this name or id."""

    http = 404
    exit = 3
    default_hint = "Check the id; an 8-character prefix is enough where it is unique."


class NoSuchConcept(NotFound):
    """There is no such concept."""

    default_hint = "Look at the nearest known spellings."


class NoSuchConflict(NotFound):
    """There is no such conflict."""


class NoSuchCue(NotFound):
    """There is no such statement in quarantine."""


class NoSuchRun(NotFound):
    """There is no such run."""


class Refused(FestingerError):
    """This cannot be done in the present state."""

    http = 409
    exit = 4
    default_hint = "Look at the present state first, then decide again."


class AlreadyDecided(Refused):
    """Somebody has already decided this."""


class AlreadyRunning(Refused):
    """This is already running."""

    default_hint = "Wait for the run that is under way; `festinger jobs` shows it."


class EffectFailed(Refused):
    """What was approved could not be carried out; nothing was changed."""

    default_hint = "Look at the reason, then edit the proposal or reject it."


class ModelInUse(Refused):
    """This model is in use."""

    default_hint = "Choose another model for that purpose first."


class NotProposable(Refused):
    """This may not be proposed."""


class OneByOne(Refused):
    """These must be decided one by one."""


class Replayed(Refused):
    """This idempotency key was already used with another body."""

    default_hint = "Use a new `Idempotency-Key` for a new request."


class SettingPinned(Refused):
    """This setting is pinned by the deployment."""

    default_hint = "Change it where it is set: in the environment or on the command line."


class Stale(Refused):
    """This has changed since you looked at it."""

    http = 412
    default_hint = "Read it again and repeat your change on the present version."


class Outdated(Stale):
    """What this would touch has changed since it was proposed."""

    http = 409
    default_hint = "Have it built anew from what stands now, look at it again, and decide then."

    @classmethod
    def class_name(cls) -> str:
        # Programs treat it like any other concurrent change; only no version was named.
        return Stale.class_name()


class TooDeep(Refused):
    """This is nested too deeply."""


class UndoBlocked(Refused):
    """This change can no longer be undone, because later changes stand on it."""

    default_hint = "Undo the later changes first."


class Unseen(Refused):
    """Something must be looked at before this is decided."""


class NotAuthenticated(FestingerError):
    """A valid key is needed here."""

    http = 401
    exit = 6
    default_hint = "Make one with `festinger keys make` and send it as `X-Festinger-Key`."


class BadSignature(NotAuthenticated):
    """The signature does not fit the message."""


class NotAuthorised(FestingerError):
    """This key may not do that."""

    http = 403
    exit = 6
    default_hint = "Use a key whose role allows it."


class Unavailable(FestingerError):
    """A part that is needed for this does not answer."""

    http = 503
    exit = 5
    default_hint = "Try again; `festinger doctor` says what is missing."


class Overloaded(Unavailable):
    """There is more work than the limits allow now."""

    default_hint = "Wait, or raise the limit in the settings."


class ProviderDown(Unavailable):
    """A model provider does not answer; trying again may help."""

    default_hint = "Check that the provider runs and can be reached."


class ProviderRefused(Unavailable):
    """A model provider refused the request or gave an unusable answer; trying again will not help."""

    http = 502
    default_hint = "Check the model's name and key with `festinger doctor`."


class PartlyEmbedded(ProviderRefused):
    """Some of the texts could not be embedded; the vectors of the others are here."""

    default_hint = "Keep the vectors that are there and leave out the texts that were refused."

    def __init__(self, vectors: Sequence[Any], failures: Mapping[int, FestingerError]) -> None:
        """`vectors` has `None` where a text failed; `failures` says why, by the text's index."""
        self.vectors = vectors
        self.failures = failures
        first = next(iter(failures.values()))
        super().__init__(
            f"{len(failures)} of {len(vectors)} texts could not be embedded: {first.message}", places=sorted(failures)
        )


class SecretUnreadable(Unavailable):
    """This secret cannot be read with the present master key."""

    default_hint = "Set it again, or bring back the master key that it was set with."


class ServerAway(Unavailable):
    """No Festinger answers at this address."""

    default_hint = "Start it there with `festinger serve`, or leave `--server` out to open the store itself."


class StoreDown(Unavailable):
    """The database does not answer."""

    default_hint = "It is retried by itself; `festinger doctor` says what is wrong."
    retry_after = 5


class StoreBusy(StoreDown):
    """Other work is at the same rows; nothing was changed."""

    default_hint = "Try again in a moment."
    retry_after = 1


class CannotStart(FestingerError):
    """Festinger cannot start like this."""

    http = 503
    exit = 5


class KeyFileExposed(CannotStart):
    """The file with the master key can be read by others."""

    default_hint = "Make it a plain file of yours with mode 0600."


class MigrationChanged(CannotStart):
    """A migration that this database has already taken was changed afterwards."""

    default_hint = "Install the version that the database was migrated with, or restore the file."


class NeedsKey(CannotStart):
    """Listening beyond this machine needs an API key."""

    default_hint = "Make one with `festinger keys make`, or accept the risk with `--insecure-bind`."


class PortTaken(CannotStart):
    """The port is already in use."""

    default_hint = "Choose another one with `--port`."


class SchemaTooNew(CannotStart):
    """The database was written by a newer Festinger than this one."""

    default_hint = "Install the newer version; nothing was touched."


class StoreUnfit(CannotStart):
    """This database server does not fit: PostgreSQL 15 or newer with pgvector 0.8 or newer is needed."""

    default_hint = "Upgrade the server, or leave `database_url` empty to use the embedded one."


class Unwired(CannotStart):
    """A part is used that was never wired in."""


class WeightsUnfit(CannotStart):
    """The weights of a model are missing, or are not the ones that were published."""

    default_hint = "Install them again; until then memory works by words."
