"""How a command ends for people: what is amiss with its places, one line of totals, one hint what to do next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arkaudit.exits import say
from reports.display import counted
from reports.ending import Fault, fault_lines, next_words
from reports.languages import ENGLISH, Language

if TYPE_CHECKING:
    from crawler.outcomes import Family

#: So many names of documents stand in a command that is suggested; more are left to whoever knows them.
_MOST_NAMES: Final = 3


def tell_ending(
    faults: Sequence[Fault], count: int, total: str, hint: str | None, language: Language = ENGLISH
) -> None:
    """Say what is amiss, of which there is *count*, then the *total*, and what to do next."""
    for line in (*fault_lines(faults, count, language), total, hint):
        if line:
            say(line)


def command(*words: str | Path | None) -> str:
    """A command as a shell takes it; None stands for an option that is not needed.

    >>> command("report", "--store", "my audit.db", None)
    "arkaudit report --store 'my audit.db'"
    """
    return shlex.join(["arkaudit", *(str(word) for word in words if word is not None)])


def with_config(config_file: Path | None) -> tuple[str | Path | None, str | Path | None]:
    """The words that name a configuration, if there is one."""
    return ("-c", config_file) if config_file is not None else (None, None)


def checked_words(families: Iterable[Family], without_ark: int, known: str) -> str:
    """The total of a check: how many ARKs of each family there are, lines *without_ark*, and problems that are known.

    >>> from crawler.outcomes import Family
    >>> checked_words([Family.WORKS, Family.WORKS, Family.FAILS], 1, "")
    '3 ARKs checked: 2 work, 1 fails; 1 line holds no ARK'
    """
    from reports.wording import FAMILY_COUNTS

    counts = Counter(families)
    parts = [
        ENGLISH.ngettext(forms.one, forms.many, counts[each]) for each, forms in FAMILY_COUNTS.items() if counts[each]
    ]
    told = f"{counted(counts.total(), 'ARK')} checked" + (f": {', '.join(parts)}" if parts else "")
    lines = f"{counted(without_ark, 'line holds', 'lines hold')} no ARK" if without_ark else ""
    return "; ".join(filter(None, (told, lines, known)))


def after_check(asked: str | None, store_file: Path | None, config_file: Path | None, *, is_explained: bool) -> str:
    """What to do after a check; *asked* is the first line of input of which the ARK fails, if any."""
    if store_file is not None:
        return after_run(store_file)
    if asked is not None and not is_explained:
        return next_words(command("check", "--explain", *with_config(config_file), asked))
    return next_words("the same with --store audit.db, which keeps every request and answer for arkaudit report")


def after_run(store_file: Path, language: Language = ENGLISH) -> str:
    """What to do after a run that has written no report."""
    return next_words(command("report", "--store", store_file, "--out", "report"), language)


def after_crawl(store_file: Path, config_file: Path | None) -> str:
    """What to do after a crawl."""
    return next_words(command("check", "--due", "--store", store_file, *with_config(config_file)))


def after_dataset(place: str) -> str:
    """What to do after a dataset was made."""
    return next_words(command("check", "--from", place, "--store", "audit.db", "--contact", "you@example.org"))


def after_extract(places: Sequence[str], config_file: Path | None) -> str:
    """What to do after the ARKs of documents were printed.

    >>> after_extract(["my thesis.pdf"], None)
    "next: arkaudit run 'my thesis.pdf' --contact you@example.org --out report"
    """
    is_named = len(places) <= _MOST_NAMES and "-" not in places
    contact = ("--contact", "you@example.org") if config_file is None else (None, None)
    tail = (*with_config(config_file), *contact, "--out", "report")
    if is_named:
        return next_words(command("run", *places, *tail))
    return next_words(f"{command('run', 'FILE', *tail)}, with the same files, asks for each ARK")
