"""What does a yes do to censors, conflicts and settings?"""

from pathlib import Path

import pytest
from tests.runtime.effects.approving import PLACE, Approving, approving

from festinger.errors import BadInput, NotProposable, Outdated, UndoBlocked
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, SessionId, cause
from festinger.memory.censors.edit import CensorRequest, add_censor, deactivate, load_page_of_censors
from festinger.proposals.model import ProposalType
from festinger.world.conflicts import PENDING, Conflict, load_conflicts
from festinger.world.edge_statements import apply_statement
from festinger.world.model import EdgeSource, WorldStatement

TUNED = "memory.censor_threshold"


@pytest.mark.requirement("H-55", "H-57")
async def test_a_censor_is_made_and_made_stronger_by_approval_alone_and_both_are_undone(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        deps = at.app.memory.deps
        made = await at.approve(
            ProposalType.CENSOR_RULE, {"pattern": r"rm -rf \S+", "on": ["tool"], "reason": "It erases."}
        )
        (censor,) = await load_page_of_censors(deps, MAIN_SPACE)
        assert (censor.standing, censor.pattern, censor.reason) == ("warn", r"rm -rf \S+", "It erases.")
        assert censor.id in (await at.app.memory.watch.in_force(MAIN_SPACE)).censors
        with pytest.raises(Outdated, match="so already"):
            await at.approve(ProposalType.CENSOR_RULE, {"pattern": r"rm -rf \S+", "on": ["tool"]})

        payload = {"censor_id": str(censor.id), "from": "warn", "to": "block"}
        stronger = await at.approve(ProposalType.CENSOR_ESCALATION, payload)
        held = (await at.app.memory.watch.in_force(MAIN_SPACE)).censors[censor.id]
        assert held.standing == "block"
        weaker = await at.approve(ProposalType.CENSOR_ESCALATION, payload | {"from": "block", "to": "warn"})
        with pytest.raises(UndoBlocked):
            await at.undo(stronger)
        await at.undo(weaker)
        await at.undo(stronger)
        assert [each.standing for each in await load_page_of_censors(deps, MAIN_SPACE)] == ["warn"]
        await at.undo(made)
        assert [each.standing for each in await load_page_of_censors(deps, MAIN_SPACE)] == ["off"]
        assert (await at.app.memory.watch.in_force(MAIN_SPACE)).censors == {}


@pytest.mark.requirement("H-49")
async def test_a_censor_that_is_gone_or_off_is_not_made_stronger(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        made = await add_censor(at.app.memory.watch, PLACE, CensorRequest(rule="secret-[0-9]+"))
        off = await add_censor(at.app.memory.watch, PLACE, CensorRequest(rule="secret-[a-z]+"))
        waits = [
            await at.propose(ProposalType.CENSOR_ESCALATION, {"censor_id": str(each.id), "from": "warn", "to": "block"})
            for each in (made, off)
        ]
        await deactivate(at.app.memory.deps, MAIN_SPACE, off.id, by="Bob")
        await at.rows("delete from censor where id = %(id)s returning id", id=made.id)

        for each in waits:
            with pytest.raises(Outdated) as caught:
                await at.decide(each)
            assert caught.value.http == 409

        assert await at.rows("select * from proposal_effect") == []
        assert [row["state"] for row in await at.rows("select state from proposal")] == ["promoted"] * 2
        assert [each.standing for each in await load_page_of_censors(at.app.memory.deps, MAIN_SPACE)] == ["off"]


async def contradicted(at: Approving) -> Conflict:
    """`gnommoweb` is a repo, and somebody says that it is a container."""
    await at.app.world.need(MAIN_SPACE)
    for parent, session in (("repo", "s1"), ("container", "s2")):
        because = cause(agent=DEFAULT_AGENT, session=SessionId(session), origin=Origin.PERSON, at=at.hands.now)
        said = WorldStatement(
            concept="gnommoweb",
            parent=parent,
            dimension="type",
            is_isa=True,
            confidence=0.9,
            source=EdgeSource.INFERRED,
            cause=because,
        )
        await apply_statement(at.app.world.deps, MAIN_SPACE, said)
    (found,) = await load_conflicts(at.app.world.deps, MAIN_SPACE, statuses=(PENDING,))
    return found


EDGES = """
    select d.token as dimension, p.token as parent from urd u
    join soas c on c.space_id = u.space_id and c.id = u.id
    join soas d on d.space_id = u.space_id and d.id = u.dim_id
    join soas p on p.space_id = u.space_id and p.id = u.parent_id
    where c.token = 'gnommoweb' order by d.token
"""


@pytest.mark.requirement("H-55", "H-57")
async def test_a_dimension_is_parted_and_undoing_brings_edge_and_conflict_back(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        conflict = await contradicted(at)
        before = await at.rows(EDGES)
        payload = {
            "conflict_id": str(conflict.id),
            "concept": "gnommoweb",
            "dim": "type",
            "existing_dimension": "artifact-type",
            "new_dimension": "deployment-type",
        }

        done = await at.approve(ProposalType.DIMENSION_DECOMPOSITION, payload)

        assert await at.rows(EDGES) == [
            {"dimension": "artifact-type", "parent": "repo"},
            {"dimension": "deployment-type", "parent": "container"},
        ]
        world = at.app.world.worlds.find(MAIN_SPACE)
        assert world is not None
        seen = world.version
        with pytest.raises(Outdated):
            await at.approve(ProposalType.DIMENSION_DECOMPOSITION, payload)
        await at.undo(done)
        assert await at.rows(EDGES) == before == [{"dimension": "type", "parent": "repo"}]
        (again,) = await load_conflicts(at.app.world.deps, MAIN_SPACE, statuses=(PENDING,))
        assert again.id == conflict.id
        assert world.version == seen + 1, "this process has seen both, each once it was in force"
        with pytest.raises(BadInput):
            await at.propose(ProposalType.DIMENSION_DECOMPOSITION, {"conflict_id": str(conflict.id)})


@pytest.mark.requirement("H-55", "H-57")
async def test_a_setting_is_changed_in_force_at_once_and_put_back_as_it_was(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:

        def threshold() -> int:
            return at.app.settings.for_space(MAIN_SPACE).memory.censor_threshold

        first = threshold()
        done = await at.approve(ProposalType.SETTINGS_CHANGE, {"key": TUNED, "from": str(first), "to": "7"})
        changed = threshold()
        with pytest.raises(Outdated, match="has changed"):
            await at.approve(ProposalType.SETTINGS_CHANGE, {"key": TUNED, "from": str(first), "to": "8"})
        later = await at.approve(ProposalType.SETTINGS_CHANGE, {"key": TUNED, "from": "7", "to": "9"})
        with pytest.raises(UndoBlocked):
            await at.undo(done)
        await at.undo(later)
        between = threshold()
        await at.undo(done)

        assert (changed, between, threshold()) == (7, 7, first)
        assert await at.rows("select * from config where key = %(key)s", key=TUNED) == []
        by = await at.rows("select payload->>'by' as by from event where name = 'setting_changed'")
        assert {row["by"] for row in by} == {"Ada"}


@pytest.mark.requirement("H-55")
async def test_what_guards_the_house_may_not_be_proposed(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        for key in (
            "auth.loopback",
            "secrets.key_file",
            "database_url",
            "proposals.min_seen_count",
            "proposals.webhook.secret",
        ):
            with pytest.raises(NotProposable):
                await at.propose(ProposalType.SETTINGS_CHANGE, {"key": key, "from": "", "to": "1"})
        with pytest.raises(BadInput):
            await at.propose(ProposalType.SETTINGS_CHANGE, {"key": TUNED, "to": "minus one"})
