"""Make at import the patterns, lists and catalogues that the program makes once in each process: judge two pages.

`tests.real.preloaded` imports this module, so that no process of the tests has to make them.
"""

from crawler.answers.answer import read_answer
from crawler.answers.facts import AnswerFacts
from crawler.model.crawl_requests import site_of
from crawler.model.observations import ChainEnd, Hop, Observation, Question
from crawler.verdicts.verdict import VerdictContext, judge
from extractors.model.ark import Ark
from reports.languages import NAMES, Language
from reports.languages.templates import template

_URL = "https://www.library.example/ark:/12345/x5"


def _facts(question: Question, status: int, page: bytes) -> AnswerFacts:
    ark = Ark.parse(_URL)
    answer = read_answer(page, "text/html", ark)
    return AnswerFacts.from_observation(
        Observation(
            ark, _URL, question, _URL, (Hop(_URL, "GET", "", status),), ChainEnd.ANSWERED, media_type="text/html",
            title=answer.title, text=answer.text, body_complete=True, record=answer.record, facts=answer.facts,
        )
    )  # fmt: skip


site_of(_URL)
for _status, _page in ((200, b"<title>Item</title><p>Ink"), (404, b"<title>Gone</title><p>The item was withdrawn")):
    _object, _info = (_facts(question, _status, _page) for question in (Question.OBJECT, Question.INFO))
    judge(
        {Question.OBJECT: _object, Question.INFO: _info},
        context=VerdictContext(control=_facts(Question.CONTROL, _status, _page)),
    )
for _code in NAMES:
    Language(_code).gettext("ARK")
template("page.html.j2", "reports.page")
