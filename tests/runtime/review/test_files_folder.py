"""How do people decide in a folder of files?"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.effects.approving import Approving, approving

from festinger.ids import MAIN_SPACE
from festinger.proposals.inbox import load_card
from festinger.proposals.model import Proposal, ProposalState, ProposalType, VerdictKind
from festinger.proposals.verdicts.reviewers import add_reviewer, issue_codes
from festinger.runtime.review.files import InboxFolderWatcher, InboxScanReport


class Person:
    """Somebody with an editor, and the process that watches."""

    def __init__(self, at: Approving) -> None:
        self.at = at
        self.folder = InboxFolderWatcher(at.app)

    @property
    def place(self) -> Path:
        return self.folder.tray.folder

    def files(self, where: str = "") -> list[str]:
        return sorted(each.name for each in (self.place / where).glob("*.md"))

    def sheet(self, proposal: Proposal) -> Path:
        (found,) = [each for each in self.place.glob("*.md") if str(proposal.id) in each.read_text()]
        return found

    def done(self) -> str:
        (found,) = (self.place / "done").glob("*.md")
        return found.read_text()

    def write(self, proposal: Proposal, **fields: str) -> Path:
        """Fill lines in, whatever stands there."""
        path = self.sheet(proposal)
        lines = path.read_text().splitlines()
        for name, value in fields.items():
            lines = [f"{name}: {value}" if line.startswith(f"{name}:") else line for line in lines]
        path.write_text("\n".join(lines))
        return path

    async def scan(self) -> InboxScanReport:
        """Two looks with enough time between them for everything to have lain still."""
        await self.folder.scan()
        self.at.hands.forward(timedelta(seconds=3))
        return await self.folder.scan()

    async def state(self, proposal: Proposal) -> ProposalState:
        return (await load_card(self.at.app.inbox.deps, MAIN_SPACE, proposal.id)).proposal.state

    async def verdicts(self) -> list[dict[str, Any]]:
        return await self.at.rows("select kind, author, verified, channel, result from verdict order by id")


@pytest.mark.requirement("H-84")
async def test_a_person_decides_by_editing_a_file_that_has_lain_still(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        person = Person(at)
        await add_reviewer(at.app.inbox.deps, MAIN_SPACE, "Eve")
        first = await at.propose(ProposalType.ADVICE, {}, what="Retry the failed query")
        other = await at.propose(ProposalType.ADVICE, {}, what="Lower the temperature")
        await person.scan()
        assert len(person.files()) == 2

        person.write(first, verdict="Approve", by="Eve", note="Good idea")
        await person.folder.scan()
        assert await person.state(first) is ProposalState.PROMOTED
        at.hands.forward(timedelta(seconds=1))
        person.write(first, note="A good idea")
        await person.folder.scan()
        at.hands.forward(timedelta(seconds=1))
        assert (await person.folder.scan()).taken == 0
        at.hands.forward(timedelta(seconds=1))
        assert (await person.folder.scan()).taken == 1

        assert await person.state(first) is ProposalState.APPLIED
        assert "result: applied" in person.done()
        assert person.files() == [person.sheet(other).name]
        (verdict,) = await person.verdicts()
        assert (verdict["author"], verdict["verified"], verdict["channel"]) == ("Eve", True, "folder")
        person.sheet(other).unlink()
        await person.scan()
        assert await person.state(other) is ProposalState.PROMOTED
        assert person.sheet(other).exists()


@pytest.mark.requirement("H-84", "H-47")
async def test_what_is_not_understood_or_not_proved_is_said_on_the_sheet_which_stays(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        person = Person(at)
        proposal = await at.propose(ProposalType.ADVICE, {}, what="Retry the failed query")
        await person.scan()

        for fields, said in (
            ({"verdict": "yes"}, "result: not taken: `yes` is no verdict."),
            ({"verdict": "approve"}, "result: not taken: Write your name"),
            ({"by": "Nobody"}, "result: not taken: `Nobody` is not known"),
            ({"verdict": "duplicate 00000000"}, "result: not taken: "),
        ):
            person.write(proposal, **fields)
            assert (await person.scan()).not_taken == 1
            assert said in person.sheet(proposal).read_text()
            assert (await person.scan()).not_taken == 0

        assert await person.state(proposal) is ProposalState.PROMOTED
        assert [(row["result"], row["verified"]) for row in await person.verdicts()] == [("unverified", False)]


@pytest.mark.requirement("H-84")
async def test_what_changes_behaviour_needs_a_code_that_is_burnt_with_its_use(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        person = Person(at)
        await add_reviewer(at.app.inbox.deps, MAIN_SPACE, "Eve")
        codes = await issue_codes(at.app.deciding.office, MAIN_SPACE, "Eve")
        memory = await at.learn("Rana answers in the morning.")
        payload = {"memory_id": str(memory), "gain": 5.0}
        first, second = [
            await at.propose(ProposalType.IDENTITY_PROMOTION, payload, what=f"Hold it deeply, {number}")
            for number in ("once", "again")
        ]
        await person.scan()

        person.write(first, verdict="approve", by="Eve")
        await person.scan()
        assert "one-time codes" in person.sheet(first).read_text()
        assert await person.state(first) is ProposalState.PROMOTED
        person.write(first, code=codes[0])
        await person.scan()
        assert await person.state(first) is ProposalState.APPLIED

        person.write(second, verdict="reject", by="Eve", code=codes[0])
        await person.scan()
        assert await person.state(second) is ProposalState.PROMOTED
        person.write(second, code=codes[1])
        await person.scan()
        assert await person.state(second) is ProposalState.REJECTED


@pytest.mark.requirement("H-84")
async def test_a_sheet_with_a_wrong_mark_is_refused_and_the_right_one_is_written_beside_it(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        person = Person(at)
        proposal = await at.propose(ProposalType.ADVICE, {}, what="Retry the failed query")
        await person.scan()
        path = person.write(proposal, verdict="approve", by="Ada")
        path.write_text(path.read_text().replace("version=", "version=1"))

        assert (await person.scan()).refused == 1

        assert await person.state(proposal) is ProposalState.PROMOTED
        assert len(person.files()) == 2


@pytest.mark.requirement("H-84")
async def test_a_sheet_follows_its_proposal_until_somebody_writes_on_it(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        person = Person(at)
        seen, written = [
            await at.propose(ProposalType.ADVICE, {}, what=what) for what in ("Retry the query", "Lower the heat")
        ]
        elsewhere = await at.propose(ProposalType.ADVICE, {}, what="Wait longer")
        await person.scan()

        person.write(written, note="I am still thinking")
        for proposal in (seen, written):
            await at.decide(proposal, VerdictKind.DEEPEN)
        await at.decide(elsewhere, VerdictKind.REJECT)
        await person.scan()

        assert "no model: evidence only" in person.sheet(seen).read_text()
        assert "I am still thinking" in person.sheet(written).read_text()
        assert "result: decided elsewhere: rejected" in person.done()
        person.write(written, verdict="reject", by="Ada")
        await person.scan()
        assert "result: not taken: This proposal has version" in person.sheet(written).read_text()
        person.write(written, verdict="reject", by="Ada")
        await person.scan()
        assert await person.state(written) is ProposalState.REJECTED


@pytest.mark.requirement("H-84", "H-48")
async def test_a_person_who_decides_while_the_server_is_away_is_heard_once(database_url: str, tmp_path: Path):
    async with approving(database_url, tmp_path) as at:
        person = Person(at)
        await add_reviewer(at.app.inbox.deps, MAIN_SPACE, "Eve")
        proposal = await at.propose(ProposalType.ADVICE, {}, what="Retry the failed query")
        await person.scan()
    text = person.write(proposal, verdict="reject", by="Eve", note="It is fixed.").read_text()

    async with approving(database_url, tmp_path, seed=2) as at:
        person = Person(at)
        assert (await person.scan()).taken == 1
        assert await person.state(proposal) is ProposalState.REJECTED
        assert len(person.files("done")) == 1
        # The process died before it had put the sheet aside.
        (person.place / "again.md").write_text(text)
    async with approving(database_url, tmp_path, seed=3) as at:
        person = Person(at)
        await person.scan()

        assert len(await person.verdicts()) == 1
        assert await person.state(proposal) is ProposalState.REJECTED
        assert person.files() == []
        (row,) = await at.rows("select rejections from proposal")
        assert row["rejections"] == 1


@pytest.mark.requirement("H-21")
async def test_a_sheet_shows_what_asks_for_the_opposite_and_an_older_one_is_not_taken(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        person = Person(at)
        await add_reviewer(at.app.inbox.deps, MAIN_SPACE, "Eve")
        one = await at.propose(ProposalType.ADVICE, {}, what="Retry the failed query")
        other = await at.propose(ProposalType.ADVICE, {}, what="Fail at once")
        await person.scan()
        person.write(one, verdict="approve", by="Eve")
        await at.oppose(one, other)
        await person.scan()
        assert await person.state(one) is ProposalState.PROMOTED

        person.sheet(one).unlink()
        await person.scan()
        assert "asks for the opposite\n\n    Fail at once" in person.sheet(one).read_text()
        person.write(one, verdict="approve", by="Eve")
        await person.scan()

        assert await person.state(one) is ProposalState.APPLIED
