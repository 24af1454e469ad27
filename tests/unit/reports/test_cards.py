"""The cards of causes to act on: letters in plain words, addressees, and safe commands."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import product
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from crawler.model.observations import Family, ObjectOutcome
from crawler.verdicts.verdict import WAYS
from reports.languages import ENGLISH
from reports.languages.display import escape_invisible
from reports.languages.templates import macros
from reports.page.cards import ActionCard, ArkProblem, action_cards, card_macros, known_command, letter
from reports.remediation.causes import Cause, Failure, diagnose
from reports.store.frames import Frames
from reports.tables.report_tables import Tables
from tests.report_world import RIGHT_TO_LEFT_OVERRIDE
from tests.vectors import vectors

# -- letters


def seen_arks(vector: dict[str, Any]) -> list[ArkProblem]:
    """Return the ARKs of a letter in the vectors."""
    return [
        ArkProblem(
            **{
                **each,
                "outcome": ObjectOutcome(each["outcome"]),
                "day": date.fromisoformat(each["day"]) if "day" in each else None,
                "documents": tuple(each.get("documents", ())),
            }
        )
        for each in vector["seen"]
    ]


@pytest.mark.parametrize("vector", vectors("letters"))
def test_letter_gives_observation_and_remedy(vector: dict[str, Any]) -> None:
    seen = seen_arks(vector)
    told = letter(Cause(vector["cause"]), seen, vector["count"])
    assert told.subject == vector["subject"]
    assert told.body == "\n\n".join(vector["body"]) + "\n"


#: Statements that a letter must not make together; the first needs no other.
CONTRADICTIONS = (
    ("not lead to (its|their) object|not to the object", "leads to its object|leads, through|provider explains"),
    ("cannot be reached|could not reach|no answer", "answered|reports success|reported an|valid HTTP|redirects"),
    ("resolver knows (this|these)|withdrawn", "has nothing under this identifier"),
    ("form a loop", "too many redirects"),
)


#: Words of a letter about several ARKs.
PLURALS = re.compile(r"\bthese\b|resolve them|their (sources|pages|objects|new)|ARKs that lead")


def contradictions(text: str) -> list[str]:
    return [one for one, other in CONTRADICTIONS if re.search(one, text) and re.search(other, text)]


def possible_letters() -> Iterator[tuple[Cause, str]]:
    """Yield the letter about each failure that an audit may diagnose."""
    ark, asked, landing = "ark:12148/x5", "https://r.example/ark:/12148/x5", "https://l.example/view/5"
    nothing_known = {"naan_known": False, "pattern_works": False, "pattern_count": 2, "host_answers": False}
    known = ({"works_at": "https://o.example/ark:/12148/x5"}, {"longer": f"{ark}y"})
    evidence: Sequence[Mapping[str, Any]] = ({}, nothing_known, *known, {"shorter": "ark:12148/x"}, {"whole": ark})
    outcomes = [one for one in ObjectOutcome if one.family in (Family.FAILS, Family.UNREACHABLE)]
    failures = [
        Failure(ark, asked, outcome, last_url, status, check=check, has_lasted=has_lasted)
        for outcome in outcomes
        for last_url in (asked, landing)
        for status in (404, 410)
        for check in ("unknown", "fails")
        for has_lasted in (False, True)
    ]
    works = (ObjectOutcome.RESOLVED, ObjectOutcome.RELATED, ObjectOutcome.EXPLAINED, ObjectOutcome.WORKS_ELSEWHERE)
    failures += [Failure(ark, asked, one, asked, 404, way=way, way_url=f"{asked}z") for one in works for way in WAYS]
    for failure, known_of_others in product(failures, evidence):
        found = diagnose(replace(failure, **known_of_others))
        one = ArkProblem(ark, asked, failure.outcome, failure.last_url, should_be=found.should_be or "")
        written = letter(found.cause, [one], 1)
        yield found.cause, f"{written.subject}\n{written.body}"


def test_no_letter_contradicts_itself() -> None:
    letters = set(possible_letters())
    assert {cause for cause, _ in letters} == set(Cause)
    for cause, text in letters:
        assert not contradictions(text), (cause, text)
        assert not PLURALS.search(text), (cause, text)
        assert "12148" in text


@pytest.mark.parametrize(
    ("agent", "sender"),
    [
        ("arkaudit/0.1 (+https://pypi.org/project/arkaudit/; ada@library.example)", "ada@library.example"),
        ("arkaudit/0.1 (+https://library.example/bot)", "https://library.example/bot"),
        ("checker/2 (+mailto:ada@library.example)", "ada@library.example"),
    ],
)  # fmt: skip
def test_a_letter_is_signed_by_the_contact_of_the_auditors(agent: str, sender: str, frames: Frames) -> None:
    changed = replace(frames, run=frames.run.assign(user_agent=agent))
    for card in action_cards(changed, Tables(changed), 9):
        assert card.letter.body.rstrip().endswith(sender)


# -- addressees


def facts_of(card: ActionCard) -> dict[str, tuple[str, str | None]]:
    """Return the facts that the page shows about a cause, with the target of each link."""
    words = macros("card.html.j2", "reports.page", ENGLISH, card=card_macros(ENGLISH))
    shown = BeautifulSoup(words.facts(card), "html.parser")
    terms, values = shown.select("dt"), shown.select("dd")
    links = (value.select_one("a[href]") for value in values)
    targets = (str(target["href"]) if target else None for target in links)
    texts = zip((value.text for value in values), targets, strict=True)
    return dict(zip((term.text for term in terms), texts, strict=True))


@pytest.mark.parametrize(
    ("address", "href", "mail"),
    [
        pytest.param("https://museum.example/", "https://museum.example/", False, id="a home page is a link"),
        pytest.param("arks@museum.example", "mailto:arks@museum.example", True, id="a mailbox is a link, too"),
        pytest.param("a@b.example?bcc=all@b.example", None, False, id="only a mailbox is written to"),
        pytest.param("javascript:alert(1)", None, False, id="a script is no link"),
        pytest.param("Rue de Rivoli, Paris", None, False, id="an address of stone is shown as it is"),
    ],
)
def test_the_responsible_have_an_address_where_the_registry_has_one(
    frames: Frames, address: str, href: str | None, mail: bool
) -> None:
    known = frames.registered["naan"].eq("53355")
    registered = frames.registered.assign(contact=frames.registered["contact"].mask(known, address))
    changed = replace(frames, registered=registered)
    [card] = (card for card in action_cards(changed, Tables(changed), 9) if card.row["cause"] == "unknown-naan")
    facts = facts_of(card)
    assert facts["Responsible"] == (f"the organization of the NAAN: Musée du Louvre ({address})", href)
    assert bool(card.mail) == mail
    assert "Assigned by" not in facts


def test_an_organization_whose_host_is_at_fault_has_only_assigned_the_arks(frames: Frames) -> None:
    registered = frames.registered.assign(contact="arks@organization.example")
    changed = replace(frames, registered=registered)
    cards = [card for card in action_cards(changed, Tables(changed), 9) if card.row["fault"] != "organization"]
    assert any(card.contacts for card in cards)
    for card in cards:
        facts = facts_of(card)
        assert card.mail is None
        assert "organization" not in facts["Responsible"][0]
        assert ("Assigned by" in facts) == bool(card.contacts)


@given(st.text(min_size=1), st.lists(st.text(min_size=1), min_size=1, max_size=20), st.text())
def test_nothing_of_the_web_is_more_than_a_word_of_a_command(host: str, arks: list[str], store: str) -> None:
    row = {"host": host, "arks": len(set(arks))}
    words = shlex.split(known_command(row, arks, store))
    assert words[:3] == ["arkaudit", "known", "add"]
    assert words[-4:-1] == ["--reason", "…", "--store"]
    assert words[3:-4] in ([f"host:{escape_invisible(host)}"], list(dict.fromkeys(arks)))
    assert all(escape_invisible(word) == word for word in words)


def test_many_arks_are_named_by_their_host() -> None:
    arks = [f"ark:12345/x{number}" for number in range(13)]
    command = known_command({"host": "a.example", "arks": 13}, arks, "audit.db")
    assert command == 'arkaudit known add host:a.example --reason "…" --store audit.db'


# -- the check-list


def test_the_check_list_holds_every_card_and_marks_nothing_up(frames: Frames) -> None:
    rows = [card.row for card in action_cards(frames, Tables(frames), 9)]
    lines = card_macros(ENGLISH).check_list(f"`evil`{RIGHT_TO_LEFT_OVERRIDE}", rows).splitlines()
    assert lines[0] == "# To act on: `` `evil`[U+202E] ``"
    assert lines[2] == (
        "- [ ] **the resolver resolves no ARK of this NAAN** (`the organization of the NAAN: Musée du Louvre`): "
        "2 citations of 1 ARK in 2 documents. Ask the organization of this NAAN where its ARKs resolve, and cite them there."
    )
    assert len(lines) == 5


def test_an_unreachable_host_is_no_culprit_yet(frames: Frames) -> None:
    [card] = [each for each in action_cards(frames, Tables(frames), 9) if each.row["cause"] == "unreachable-host"]
    assert facts_of(card)["Responsible"][0] == "not yet clear: no answer today from slow.example"


def test_editors_of_documents_have_no_link_to_the_host(frames: Frames) -> None:
    card = action_cards(frames, Tables(frames), 9)[0]
    of_citation = replace(card, row={**card.row, "fault": "citation"})
    assert facts_of(of_citation)["Responsible"] == ("the editors of the citing documents", None)
