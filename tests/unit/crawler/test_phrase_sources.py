"""Each phrase of ``quirks.toml`` was seen somewhere, or is marked as unseen."""

import re
from collections import Counter

from tests.phrase_sources import UNSEEN, declared, ordinary_lists, phrases_in, quirks_content

FILE = "tests/vectors/phrase_sources.toml"
#: ``owner/repository: path``, ``owner/repository#number`` of an issue, a product and its version, or a search for a sign
#: that is too odd to be found by chance.
SOURCE = re.compile(r"[\w.-]+/[\w.-]+(?:: \S.*|#\d+)|[A-Z][\w. -]* v?\d[\w.]*|GitHub code search")


def test_each_phrase_has_a_source_or_is_marked_unseen() -> None:
    with_source = {phrase for _, phrase in declared()}
    missing = [phrase for phrase in phrases_in(quirks_content()) if phrase not in with_source]
    assert missing == [], (
        f"List these phrases in {FILE} under the public file or issue that has them, or under [{UNSEEN}] if a"
        " vector needs them. `python tools/phrase_rent.py` shows whether a vector needs them."
    )


def test_each_source_is_of_a_phrase() -> None:
    phrases = set(phrases_in(quirks_content()))
    extra = [(source, phrase) for source, phrase in declared() if phrase not in phrases]
    assert extra == [], (
        f"quirks.toml has these phrases no more, or its list is of ordinary words: delete them in {FILE}"
    )


def test_each_phrase_has_one_source() -> None:
    repeated = [phrase for phrase, count in Counter(phrase for _, phrase in declared()).items() if count > 1]
    assert repeated == [], f"One source is enough: delete the others of these phrases in {FILE}"


def test_sources_can_be_found() -> None:
    odd = {source for source, _ in declared() if source != UNSEEN and not SOURCE.fullmatch(source)}
    assert odd == set(), (
        "Write `owner/repository: path`, `owner/repository#1` for an issue, or a product and its version"
    )


def test_lists_of_ordinary_words_exist() -> None:
    content = quirks_content()
    absent = [name for name in ordinary_lists() if name.partition(".")[2] not in content[name.partition(".")[0]]]
    assert absent == [], f"quirks.toml has these lists no more: delete their names under [ordinary] in {FILE}"
