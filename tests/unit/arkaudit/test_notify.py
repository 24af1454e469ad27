"""The texts of notifications, and the changes that a channel was not told yet."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.configuration.config_files import models
from arkaudit.schedules.notification import send_news
from crawler.model.observations import MetadataOutcome, ObjectOutcome, ServiceVerdict, Verdict
from crawler.store.store import Store
from extractors.model.ark import Ark
from reports.formats.digest import (
    FORMATS,
    HEADINGS,
    MOST_LISTED,
    Digest,
    DigestCause,
    ListedArk,
    NewsGroup,
    as_html,
    as_markdown,
    digest_of,
    subject,
)
from reports.languages import LANGUAGES
from reports.remediation.causes import Cause, Fault
from reports.store.frames import load_frames
from reports.tables.news import News, NewsItem, news_of
from reports.tables.report_tables import Report
from reports.tables.summary import Summary
from tests.unit.crawler.test_history import GUIDE, ONE, OTHER, audit

Config, Notify = models()["Config"], models()["Notify"]


URL = "https://n2t.net/ark:12148/btv1b8449691v"

NEWS = News(7, "2026-11-21T10:00:00", compared_run=6)


def digest(report: Report, *kinds: str, on: Any = HEADINGS, page: str | None = None, **values: Any) -> Digest:
    """Return the digest of the causes in *report* with one ARK of each kind of news."""
    items = tuple(NewsItem(kind, f"ark:53355/x{number}") for number, kind in enumerate(kinds))
    news = replace(NEWS, **{"items": items, **values})
    return digest_of(report, "theses", news, page=page, kinds=on)


def test_new_problems_come_first_and_known_ones_are_counted(report: Report) -> None:
    made = digest(report, "new", "confirmed", "recovered", known_problems=12, suspect="9 of 10 hosts gave no answer")
    assert subject(made) == "arkaudit: theses: 1 confirmed broken, 1 recovered, 1 newly cited"
    text = as_markdown(made)
    assert text.index("Newly confirmed broken") < text.index("Newly cited") < text.index("## To fix by the operators")
    assert "- Already reported: 12 ARKs with problems." in text
    assert "confirms no failure: 9 of 10 hosts gave no answer" in text
    assert subject(digest(report, "new", compared_run=None)) == "arkaudit: theses: 1 cited"
    unread = digest(report, is_unread=True)
    assert subject(unread) == "arkaudit: theses: This run could read no document."
    assert "No change since" not in as_markdown(unread)
    assert digest(report, "new", on=["confirmed"]).changes == digest(report).changes == ()


def test_digest_lists_the_causes_of_the_report_with_new_arks_their_documents_and_links(report: Report) -> None:
    made = digest_of(
        report, "theses", news_of(report.frames), page="https://library.example/arks/#top", kinds=["failing"]
    )
    assert [cause.arks for cause in made.causes] == report.tables["causes"]["arks"].to_list()
    assert [cause.new_arks for cause in made.causes] == [1, 0, 1]
    text = as_markdown(made)
    assert subject(made) == "arkaudit: theses: 1 failing, 1 without an answer"
    assert "2 citations of 1 ARK in 2 documents, 1 of them new. Ask the organization" in text
    assert "(<https://library.example/arks/#cause=unknown-naan%7Corganization%7Cmuseum.example%7C>)" in text
    link = "[`ark:53355/cl010120339`](<https://library.example/arks/#ark=ark:53355/cl010120339>)"
    assert f"  - {link} in `https://library.example/guide.html` and 1 other document\n" in text


def test_long_list_is_cut_with_a_remark_and_again_for_short_messages(report: Report) -> None:
    items = tuple(NewsItem("moved", f"ark:12148/x{at}", "from a to b") for at in range(MOST_LISTED + 3))
    made = digest(report, items=items)
    text = as_markdown(made)
    assert text.count("- `ark:12148/x") == MOST_LISTED
    assert "  - and 3 more, in the report" in text
    assert [len(as_markdown(made, limit=limit)) <= limit for limit in (800, 500)] == [True, True]
    assert "and 3 more causes, in the report" in as_markdown(made, limit=500)


@given(st.text(min_size=1))
def test_foreign_text_has_no_effect_as_markup(text: str) -> None:
    ark = ListedArk(text, (text, text), detail=text)
    cause = DigestCause(text, Cause.DEAD_HOST, Fault.RESOLVER, text, 1, 1, 1, 1, (ark,))
    made = Digest(text, NEWS, Summary(), (NewsGroup("moved", 1, (ark,)),), (cause,), page="https://library.example/")
    assert as_markdown(made).count("\n") == 15
    html = lxml.html.fromstring(as_html(made))
    expected = "html head meta meta title body h1 p strong p a p ul li ul li a h2 ul li strong a ul li a"
    assert [str(element.tag) for element in html.iter() if element.tag != "samp"] == expected.split()
    assert all(link.get("href").startswith("https://library.example/") for link in html.iter("a"))


@given(st.text(min_size=1))
def test_stored_words_have_no_effect_as_markup(text: str) -> None:
    news = replace(NEWS, suspect=f"[x](http://evil.example/){text}<b>")
    made = Digest(text, news, Summary(), (), ())
    html = lxml.html.fromstring(as_html(made))
    assert {str(element.tag) for element in html.iter()} <= {
        "html",
        "head",
        "meta",
        "title",
        "body",
        "h1",
        "p",
        "strong",
        "ul",
        "li",
        "samp",
    }


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_every_language(report: Report, form: str) -> None:
    made = digest(report, *HEADINGS, page="https://library.example/", known_problems=1, unchecked=1)
    texts = {FORMATS[form](made, language) for language in LANGUAGES.values()}
    assert len(texts) == len(LANGUAGES)
    assert all("cl010120339" in text for text in texts)


class Audits:
    """The runs of an audit with two ARKs, whose news go to channels."""

    def __init__(self, path: Path, notify: Notify) -> None:
        self.path = path
        self.config = Config(name="theses", notify=notify)

    def record(self, day: float, one: int | None, other: int | None = 200) -> int:
        """Record a run, and return its id."""
        with Store.open(self.path) as store:
            return audit(store, day, documents={GUIDE: f"{ONE} {OTHER}"}, answers={ONE: one, OTHER: other})

    def run(self, day: float, one: int | None, other: int | None = 200) -> bool:
        """Record a run, and send its news."""
        return send(self.config, self.path, self.record(day, one, other))


def test_a_channel_hears_of_a_recovery_only_if_it_heard_of_the_failure(tmp_path: Path) -> None:
    brief, full = tmp_path / "brief.md", tmp_path / "full.md"
    audits = [
        Audits(tmp_path / "audit.db", Notify(file=brief)),
        Audits(tmp_path / "audit.db", Notify(file=full, on=["failing", "recovered"])),
    ]
    audits[0].record(0, 200)
    for day, status in ((1, 404), (2, 200)):
        run_id = audits[0].record(day, status)
        for one in audits:
            send(one.config, one.path, run_id)
    assert not brief.exists()
    assert [line for line in full.read_text().splitlines() if line.startswith("# ")] == [
        "# theses: 1 failing",
        "# theses: 1 recovered",
    ]


def test_an_ark_is_news_once_and_again_if_it_gets_worse(tmp_path: Path) -> None:
    news = tmp_path / "news.md"
    audits = Audits(tmp_path / "audit.db", Notify(file=news, on=["confirmed", "failing", "recovered"]))
    audits.record(0, 200)
    for day, status in ((1, 404), (4, 404), (9, 404), (10, 404), (11, None), (12, 200)):
        assert audits.run(day, status)
    lines = [line for line in news.read_text().splitlines() if line.startswith("# ")]
    assert lines == ["# theses: 1 failing", "# theses: 1 confirmed broken", "# theses: 1 recovered"]


@pytest.fixture
def broken_run(tmp_path: Path) -> tuple[Path, int]:
    """Return a store whose last run has confirmed that an ARK is broken: it failed three times in eight days."""
    path = tmp_path / "theses.db"
    nothing = ServiceVerdict(MetadataOutcome.NOT_ASKED)
    with Store.open(path) as store:
        for day, outcome in (("12", "resolved"), ("13", "broken"), ("17", "broken"), ("21", "broken")):
            at = f"2026-11-{day}T10:00:00.000+00:00"
            run_id = store.begin_run(command="run", at=at, version="0", resolver="", user_agent="", seeds=[])
            found = ServiceVerdict(ObjectOutcome(outcome))
            store.record_verdicts(
                run_id, [Verdict(Ark.parse("ark:12148/btv1b8449691v"), URL, found, nothing, nothing, URL, (), 1)]
            )
            store.end_run(run_id, at=at, state="finished")
    return path, run_id


def send(config: Config, store_file: Path, run_id: int, *, is_dry: bool = False) -> bool:
    report = Report.from_frames(load_frames(store_file, run_id=run_id))
    return send_news(config, store_file, report, config_file=Path("arkaudit.toml"), is_dry=is_dry)
