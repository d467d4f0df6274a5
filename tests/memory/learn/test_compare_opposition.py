"""How far a statement and a memory differ along the direction of negation, and what the judges do with it."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.remembering import REFERENCE, Mind, NearEmbedder

from festinger.embedding.embedder import Vector
from festinger.embedding.profiles import EmbedderProfile, Threshold, ThresholdReading
from festinger.memory.learn.compare import opposition_cosine
from festinger.memory.model import Action
from festinger.store.pool import Store

OLD, NEW = ("people deploy by merging to the main branch", "merging into the main branch is how a release goes out")
WITH_DIRECTION = replace(
    REFERENCE,
    direction=(0.0, 1.0, *[0.0] * 62),
    readings={
        **REFERENCE.readings,
        Threshold.OPPOSITION: ThresholdReading(value=0.6, data="made up", at=date(2026, 1, 5)),
    },
)


class Opposing(NearEmbedder):
    """Two texts that are near, and differ along the second axis alone or along the third."""

    def __init__(self, profile: EmbedderProfile, *, axis: int) -> None:
        super().__init__(profile=profile)
        self.axis = axis

    def _vector(self, text: str) -> Vector:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        vector[0] = 0.985
        vector[self.axis] = {OLD: 0.13, NEW: -0.13}.get(text, 0.0)
        return vector / np.linalg.norm(vector)


@given(one=st.lists(st.floats(-1, 1), min_size=3, max_size=3), other=st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_shares_along_a_direction_and_a_cosine_give_the_cosine_of_the_difference(one: list[float], other: list[float]):
    a, b = np.array(one), np.array(other)
    if min(np.linalg.norm(a), np.linalg.norm(b)) < 0.1:
        return
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    apart = np.linalg.norm(b - a)
    found = opposition_cosine(float(b[0]), float(a[0]), similarity=float(a @ b))

    assert -1.0 <= found <= 1.0
    if apart > 0.01:
        assert found == pytest.approx((b - a)[0] / apart, abs=1e-6)


@pytest.mark.requirement("J-06")
@pytest.mark.parametrize(
    ("profile", "axis", "waits"),
    [(WITH_DIRECTION, 1, True), (WITH_DIRECTION, 2, False), (REFERENCE, 1, False)],
    ids=["along the direction", "along another", "no direction in the profile"],
)
async def test_vectors_that_oppose_send_a_pair_on_instead_of_merging_it(
    store: Store, profile: EmbedderProfile, axis: int, waits: bool
):
    mind = Mind(store, embedder=Opposing(profile, axis=axis))
    await mind.learn(OLD, session="s1")

    learned = await mind.learn(NEW, session="s2")

    [pair] = mind.judges.asked[-1:]
    assert (pair.features.opposition is None) == (profile is REFERENCE)
    assert learned.pending is waits
    assert learned.action is (Action.PENDING if waits else Action.CONFIRMED)
