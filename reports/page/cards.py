"""The action cards: a cause of failures, the party that can fix it, advice, a letter and a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import quote

import pandas as pd

from crawler.model.observations import ObjectOutcome
from extractors.model.urls import authority_of
from reports.languages import ENGLISH, Language
from reports.languages.display import code, escape_invisible, link
from reports.languages.templates import macros
from reports.remediation.causes import Cause, Fault
from reports.store.frames import Frames
from reports.store.run_queries import WORKING
from reports.tables.actions import cause_key, contacts
from reports.tables.definitions import records_of

#: Number of ARKs listed in a letter; it states how many more there are.
MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class ArkProblem:
    """An ARK at a URL where the object was not reached as cited."""

    ark: str
    """The ARK in normal form."""
    url: str
    """The URL that was requested."""
    outcome: str
    """The outcome of the object service at `url`, a value of `ObjectOutcome`."""
    ended_at: str | None = None
    """The URL of the last request, if redirects led to another one."""
    day: date | None = None
    """The day of the request."""
    documents: tuple[str, ...] = ()
    """The documents that cite the ARK at `url`."""
    should_be: str | None = None
    """The corrected citation, if known."""
    archived_copy: str | None = None
    """The URL of an archived copy of the object."""
    archived_on: date | None = None
    """The day of that copy."""


@dataclass(frozen=True, slots=True)
class Letter:
    """The text of a letter that the user copies."""

    subject: str
    body: str


def letter(
    cause: Cause, failures: Sequence[ArkProblem], count: int, language: Language = ENGLISH, *, sender: str = ""
) -> Letter:
    """Return the letter about a *cause* to those who can repair it: operators of a host, or editors of documents.

    *failures* has the first of *count* ARKs. *sender* is the address for replies, or empty. Invisible characters from
    the web are spelled out, and the letter contains no markup.

    >>> failure = ArkProblem("ark:12148/btv1b84", "https://n.example/ark:/12148/btv1b84", ObjectOutcome.LOOP)
    >>> letter(Cause.LOOP, [failure], 1).subject
    'An ARK does not lead to its object'
    """
    letter_macros = macros(
        "letter.txt.j2",
        "reports.page",
        language,
        cause=cause,
        failures=failures,
        arks=list(dict.fromkeys(failure.ark for failure in failures))[:MOST_NAMED],
        count=count,
        sender=sender,
        reached={outcome for outcome in WORKING if outcome != ObjectOutcome.WORKS_ELSEWHERE},
        authority_of=authority_of,
    )
    return Letter(letter_macros.subject(), letter_macros.body())


#: Number of ARKs that a command names one by one; for more ARKs it names the host.
MOST_IN_COMMAND = 12
#: Number of rows of a cause that its letter and its command use.
_MOST_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class ActionCard:
    """A cause of failures as a card."""

    row: Mapping[str, Any]
    """Its row in the table of causes, with the number of its `places`."""
    key: str
    """Identifies the cause in every report on this store."""
    contacts: Sequence[tuple[str, str, str | None]]
    """(organization, address in the registry, link to the address or None) for the NAANs of the cause."""
    copies: Sequence[ArkProblem]
    """The ARKs of the cause with an archived copy."""
    letter: Letter
    mail: str | None
    """A ``mailto:`` URL to the organization that can start the repair, with the subject of the letter; else None."""
    command: str
    """The command that marks the cause as a known problem."""
    recheck: str
    """The command that checks the ARKs of the cause again."""

    @property
    def address(self) -> str | None:
        """A link to the party that can start the repair: to the address of the organization, or to the host.

        None if no address is known, or if the editors of documents have to start it.
        """
        if self.row["fault"] == Fault.ORGANIZATION:
            return next((href for _, _, href in self.contacts), None)
        host = None if self.row["fault"] == Fault.CITATION else self.row["host"]
        urls = filter(None, (self.row["pattern"], self.row["example_url"]))
        schemes = (url.partition(":")[0] for url in urls if host and authority_of(url) == host)
        return next((link(f"{scheme}://{host}/") for scheme in schemes), None)


def card_macros(language: Language) -> Any:
    """Return the macros with the words of cards."""
    return macros("card.txt.j2", "reports.page", language, as_code=lambda text: code(escape_invisible(text)))


def action_cards(
    frames: Frames, tables: Mapping[str, pd.DataFrame], most: int, language: Language = ENGLISH
) -> list[ActionCard]:
    """Return the cards for the first *most* causes of *tables*, in the order of the causes."""
    causes, failures = tables["causes"].head(most), tables["failures"]
    rows = failures[failures["number"].isin(causes["number"])]
    counts = rows["number"].value_counts()
    days = frames.verdicts[["ark", "request_url", "checked_at"]]
    rows = rows.groupby("number").head(_MOST_ROWS).merge(days, on=["ark", "request_url"], how="left")
    problems = rows.groupby(["number", "ark", "request_url"], sort=False, as_index=False).agg(
        outcome=("object", "first"),
        ended_at=("last_url", "first"),
        day=("checked_at", "first"),
        documents=("document", lambda documents: tuple(documents.dropna().unique())),
        should_be=("should_be", "first"),
        archived_copy=("archived_copy", "first"),
        archived_on=("archived_at", "first"),
    )
    problems_by_number = {
        number: [ArkProblem(**problem) for problem in records_of(of_cause.drop(columns="number"))]
        for number, of_cause in problems.rename(columns={"request_url": "url"}).groupby("number")
    }
    contacts_by_naan, reply_address = contacts(frames), _contact_of_auditors(frames)
    return [
        _card(
            {**row, "places": counts[row["number"]]},
            problems_by_number[row["number"]],
            [contacts_by_naan[naan] for naan in (row["naans"] or "").split(", ") if naan in contacts_by_naan],
            frames.store,
            reply_address,
            language,
        )
        for row in records_of(causes)
    ]


def _card(
    row: Mapping[str, Any],
    problems: Sequence[ArkProblem],
    naan_contacts: Sequence[tuple[str, str]],
    store: str,
    reply_address: str,
    language: Language,
) -> ActionCard:
    """Return the card of a cause from its *row*, its first *problems*, and the contacts of its NAANs."""
    message = letter(Cause(row["cause"]), problems, row["arks"], language, sender=reply_address)
    is_for_organization = row["fault"] == Fault.ORGANIZATION
    mailboxes = (address for _, address in naan_contacts if is_for_organization and _MAILBOX.fullmatch(address))
    mailbox = next(mailboxes, None)
    copies = {problem.ark: problem for problem in problems if problem.archived_copy and problem.archived_on}
    return ActionCard(
        row,
        cause_key(row),
        [(organization, address, _address_link(address)) for organization, address in naan_contacts],
        list(copies.values()),
        message,
        mail=f"mailto:{mailbox}?subject={language.apply(quote, message.subject)}" if mailbox else None,
        command=known_command(row, [problem.ark for problem in problems], store),
        recheck=recheck_command(cause_key(row), store),
    )


def _contact_of_auditors(frames: Frames) -> str:
    """Return the contact in the User-Agent, such as ``arkaudit/1 (+https://…; ada@example.org)``, or an empty text."""
    user_agents = frames.run["user_agent"]
    auditor_contacts = user_agents.str.extract(r"\((?:\+[^;)]*;\s*)?\+?(?:mailto:)?([^\s;)]+)\)", expand=False).dropna()
    return next(iter(auditor_contacts), "")


#: A plain mail address, without ``?bcc=`` after it.
_MAILBOX = re.compile(r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")


def _address_link(address: str) -> str | None:
    return f"mailto:{address}" if _MAILBOX.fullmatch(address) else link(address)


def known_command(row: Mapping[str, Any], arks: Sequence[str], store: str) -> str:
    """Return the command that makes a cause a known problem; text from the web is quoted as one word.

    *row* is its row in the table of causes, and *arks* its first ARKs. *store* is the name of the store's file.

    >>> known_command({"arks": 2, "host": "a.example"}, ["ark:12148/x", "ark:12148/y'z"], "audit.db")
    'arkaudit known add ark:12148/x \\'ark:12148/y\\'"\\'"\\'z\\' --reason "…" --store audit.db'
    """
    distinct_arks = list(dict.fromkeys(arks))
    is_short = row["arks"] <= MOST_IN_COMMAND and all(map(str.isprintable, distinct_arks))
    targets = distinct_arks if is_short or not row["host"] else [f"host:{row['host']}"]
    words = " ".join(shlex.quote(escape_invisible(word)) for word in targets)
    return f'arkaudit known add {words} --reason "…" --store {shlex.quote(escape_invisible(store or "audit.db"))}'


def recheck_command(key: str, store: str) -> str:
    """Return the command that checks the ARKs of the cause with the `cause_key` *key* again.

    >>> recheck_command("dead-host|resolver|old.example|", "audit.db")
    "arkaudit recheck --store audit.db --cause 'dead-host|resolver|old.example|'"
    """
    words = ("--store", escape_invisible(store or "audit.db"), "--cause", key)
    return f"arkaudit recheck {shlex.join(words)}"
