"""What a world asks of others, where a test has nobody else."""

from datetime import datetime

from festinger.ids import SpaceId
from festinger.store.pool import Transaction


async def ask_to_learn(_transaction: Transaction, _space: SpaceId, _message: str) -> None:
    """Nothing is done in the background."""


async def ask_to_write(
    transaction: Transaction, space: SpaceId, concept: int, *, tries: int = 1, at: datetime | None = None
) -> None:
    """Nothing is done in the background."""


def has_writer(_space: SpaceId) -> bool:
    return True
