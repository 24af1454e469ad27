"""The conversation with resolvers, question by question, without a network."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.asking.conversation import Conversation, FinishedTarget, Outgoing
from crawler.asking.shared import AskingRules
from crawler.asking.target import QuestionToSend
from crawler.model.observations import Hop, ObjectOutcome, Observation, Question
from crawler.model.resolving import Patience
from crawler.spiders.arks_spider import Replay
from crawler.spiders.runs import verdicts_of_run
from crawler.store.store import Store
from crawler.verdicts.readings import CandidateReading
from extractors.model.ark import Ark
from extractors.model.naan import Registry, RegistryEntry, ResolverTarget
from tests.unit.crawler.test_replaying import observation_of

R = "https://r.example/"
RECORD = "erc:\nwho: Rossi, Ada\nwhat: Notebook\nwhen: 1952\nwhere: ark:12x45/{name}\n"
ONCE = Patience(attempts=1)
RULES = AskingRules(registry=Registry((), "a test"), resolver=R, patience=ONCE)
Answer = Callable[[str], int | str | tuple[int | str, str]]
"""A status, a page, or a page with its status or the target of a redirect."""


def target(name: str) -> tuple[Ark, str]:
    return Ark.parse(f"ark:12x45/{name}"), f"{R}ark:/12x45/{name}"


class World:
    """Resolvers with given answers, and a whole conversation with them."""

    def __init__(
        self,
        names: Iterable[str],
        answer: Answer,
        rules: AskingRules = RULES,
        readings: Mapping[str, tuple[CandidateReading, ...]] | None = None,
    ) -> None:
        self.targets = [target(name) for name in names]
        self.answer = answer
        self.seen: list[Observation] = []
        self.finished: list[str] = []
        self.conversation = Conversation(lambda: self.targets, rules, readings, recall=self.recall)

    def recall(self, url: str) -> list[Observation]:
        return [seen for seen in self.seen if seen.request_url == url]

    def observe(self, ask: QuestionToSend) -> Observation:
        answered = self.answer(ask.url)
        at = "2026-11-21T10:00:00.000+00:00"
        if isinstance(answered, tuple) and isinstance(answered[0], int):
            status, body = answered
            return observation_of(ask, (Hop(ask.url, "GET", at, status),), body)
        if isinstance(answered, tuple):
            url, body = answered
            return observation_of(ask, (Hop(ask.url, "GET", at, 302, location=url), Hop(url, "GET", at, 200)), body)
        status, body = (answered, "") if isinstance(answered, int) else (200, answered)
        return observation_of(ask, (Hop(ask.url, "GET", at, status),), body)

    def talk(self, order: Iterable[int] = (), *, most: int | None = None) -> list[tuple[str, Question]]:
        """Begin with all targets, and process all answers, or *most* of them; *order* chooses the next pending one."""
        asked: list[tuple[str, Question]] = []
        waiting = self._replayed()

        def go(outgoing: Iterable[Outgoing]) -> None:
            for ask in self._asks(outgoing):
                waiting.append(ask)
                asked.append((ask.request_url, ask.question))

        for ark, url in self.targets:
            go(self.conversation.begin(ark, url))
        places = iter(order)
        while waiting and len(self.seen) != most:
            ask = waiting.pop(next(places, 0) % len(waiting))
            self.seen.append(self.observe(ask))
            go(self.conversation.on_answer(self.seen[-1]))
        return asked

    def _asks(self, outgoing: Iterable[Outgoing]) -> Iterator[QuestionToSend]:
        for item in outgoing:
            if isinstance(item, FinishedTarget):
                self.finished.append(item.request_url)
            else:
                yield item

    def _replayed(self) -> list[QuestionToSend]:
        """Replay the answers that are already there, and return the questions that they leave open."""
        replay, arks = Replay(), {url: ark for ark, url in self.targets}

        def take(observation: Observation) -> None:
            if replay.take(observation) is not None:
                replay.expect(self._asks(self.conversation.on_answer(observation)))

        for observation in self.seen:
            if not replay.awaits(observation) and observation.request_url in arks:
                url = observation.request_url
                replay.expect(self._asks(self.conversation.begin(arks[url], url)))
            take(observation)
        while late := replay.answers_to_find():
            for observation in self.seen:
                if (observation.request_url, observation.question, observation.attempt) in late:
                    take(observation)
        return [ask for ask, _ in replay.open(now=datetime(2026, 11, 21, 11, tzinfo=UTC))]


def describe(url: str) -> int | str:
    """Answer with an object and its record for names with an x, and with 404 for others."""
    name = url.partition("?")[0].rpartition("/")[2]
    if not name.startswith("x"):
        return 404
    return RECORD.format(name=name) if url.endswith("?info") else "<p>A notebook, forty leaves"


def questions(asked: Iterable[tuple[str, Question]], url: str) -> list[Question]:
    return [question for request_url, question in asked if request_url == url]


def test_an_object_its_metadata_and_a_name_that_cannot_exist() -> None:
    world = World(["x5"], describe)
    asked = world.talk()
    url = world.targets[0][1]
    assert questions(asked, url) == [
        Question.OBJECT, Question.CONTROL, Question.INFO, Question.CONTROL_INFO, Question.DOUBLE,
    ]  # fmt: skip
    assert world.finished == [url]


def test_a_control_is_asked_for_once_for_all_names_of_a_resolver() -> None:
    world = World(["x5", "x6", "x7"], describe)
    asked = world.talk()
    assert [question for _, question in asked].count(Question.CONTROL) == 1
    assert [question for _, question in asked].count(Question.DOUBLE) == 1
    assert sorted(world.finished) == sorted(url for _, url in world.targets)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_every_target_is_finished_once_in_any_order_of_answers(order: tuple[int, ...]) -> None:
    world = World(["x5", "y6", "x7"], describe)
    asked = world.talk([*order, *reversed(order)] * 20)
    assert sorted(world.finished) == sorted(url for _, url in world.targets)
    assert len(asked) == len(set(asked))


def test_the_same_answers_ask_the_same_questions() -> None:
    assert World(["x5", "y6"], describe).talk() == World(["x5", "y6"], describe).talk()


def test_temporary_failure_is_retried_after_a_pause_then_final() -> None:
    rules = AskingRules(registry=Registry((), "a test"), resolver=R, patience=Patience(attempts=2, backoff_s=3.0))
    conversation = Conversation(lambda: [target("x5")], rules)
    ark, url = target("x5")
    [first] = conversation.begin(ark, url)
    assert isinstance(first, QuestionToSend)
    busy = observation_of(first, (Hop(url, "GET", "2026-11-21T10:00:00.000+00:00", 503),))
    [again] = conversation.on_answer(busy)
    assert isinstance(again, QuestionToSend)
    assert (again.question, again.attempt, again.wait_s, again.after) == (Question.OBJECT, 2, 3.0, busy)
    assert conversation.on_answer(busy, is_last=True) == [FinishedTarget(url)]


def test_another_reading_is_asked_about_when_the_likeliest_fails() -> None:
    (ark, url), other = target("y5"), CandidateReading(*target("x57"))
    world = World(["y5"], describe, readings={url: (other,)})
    asked = world.talk()
    assert questions(asked, other.url)[0] is Question.OBJECT
    assert asked.index((other.url, Question.OBJECT)) > asked.index((url, Question.OBJECT))
    assert world.finished == [url]
    assert ark != other.ark


def test_a_target_that_was_asked_about_as_a_reading_is_not_asked_again() -> None:
    other = CandidateReading(*target("x57"))
    world = World(["y5", "x57"], describe, readings={target("y5")[1]: (other,)})
    asked = world.talk()
    assert questions(asked, other.url).count(Question.OBJECT) == 1
    assert sorted(world.finished) == sorted(url for _, url in world.targets)


@pytest.mark.parametrize(
    ("control", "outcome", "asked"),
    [
        (404, "explained", [Question.OBJECT, Question.CONTROL, Question.INFO]),
        (410, "broken", [Question.OBJECT, Question.CONTROL, Question.OTHER_LABEL]),
    ],
)
def test_gone_with_a_word_of_withdrawal_is_held_against_the_control(
    control: int, outcome: str, asked: list[Question], tmp_path: Path
) -> None:
    page = "<title>Borta</title><p>Posten togs bort"
    world = World(["x5"], lambda url: (410, page) if url.partition("?")[0].endswith("/x5") else control)
    assert questions(world.talk(), world.targets[0][1]) == asked
    assert outcomes_of(world, tmp_path) == {"x5": outcome}


SUPPORT = "erc-support:\nwho: A library\nwhat: Permanent: Stable Content:\nwhen: 20260101\nwhere: https://r.example/\n"


@given(order=st.lists(st.integers(0, 7), max_size=30), is_stated=st.booleans())
def test_double_is_asked_of_all_arks_only_if_it_states_what_info_lacks(order: list[int], is_stated: bool) -> None:
    def answer(url: str) -> int | str:
        described = describe(url.removesuffix("?") + "info" if url.endswith("??") else url)
        return f"{described}{SUPPORT}" if url.endswith("??") and is_stated and described != 404 else described

    asked = World(["x5a", "x5b", "x5c", "x5d"], answer).talk(order)
    assert sum(question is Question.DOUBLE for _, question in asked) == (4 if is_stated else 1)


def test_the_answer_of_a_finished_target_is_recalled_for_another() -> None:
    other = CandidateReading(*target("x57"))
    world = World(["x57", "y5"], describe, readings={target("y5")[1]: (other,)})
    begun = world.conversation.begin(*world.targets[0])
    while begun:
        ask = next(each for each in begun if isinstance(each, QuestionToSend))
        rest = [each for each in begun if each is not ask and isinstance(each, QuestionToSend)]
        world.seen.append(world.observe(ask))
        begun = [
            *rest,
            *(each for each in world.conversation.on_answer(world.seen[-1]) if isinstance(each, QuestionToSend)),
        ]
    [first] = world.conversation.begin(*world.targets[1])
    assert isinstance(first, QuestionToSend)
    outgoing = world.conversation.on_answer(world.observe(first))
    assert outgoing, "it waits for an answer that is there"
    assert other.url not in [each.request_url for each in outgoing]


@pytest.mark.parametrize("lost", [Question.OBJECT, Question.CONTROL])
def test_an_answer_that_never_comes_ends_its_target_and_no_other(lost: Question) -> None:
    other = CandidateReading(*target("x5"))
    world = World(["x5", "x6", "y5"], describe, readings={target("y5")[1]: (other,)})
    waiting = [ask for ark, url in world.targets for ask in world.conversation.begin(ark, url)]
    while waiting:
        ask = waiting.pop(0)
        assert isinstance(ask, QuestionToSend)
        is_lost = ask.request_url == other.url and ask.question is lost
        world.seen.append(world.observe(ask))
        following = world.conversation
        waiting += world._asks(following.on_lost(ask.request_url) if is_lost else following.on_answer(world.seen[-1]))
    assert world.finished == [target("x6")[1]], "a target that needs the object of the lost one is lost too"


def shell(url: str) -> str:
    return "<title>Viewer</title><div id=app>Loading the viewer</div><script src=/app.js></script>"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_browser_shows_each_app_shell_once_and_that_of_the_control_once(order: tuple[int, ...]) -> None:
    world = World(["x5", "x6"], shell, replace(RULES, rendering=True))
    asked = world.talk(order)
    counts = Counter(question for _, question in asked)
    assert (counts[Question.RENDERED], counts[Question.CONTROL_RENDERED], counts[Question.CONTROL]) == (2, 1, 1)
    for _, url in world.targets:
        own = [each for each in questions(asked, url) if each is not Question.CONTROL_RENDERED]
        assert own[-1] is Question.RENDERED, "all else is asked before"
    assert sorted(world.finished) == sorted(url for _, url in world.targets)


@pytest.mark.parametrize(
    ("answer", "is_on"),
    [
        pytest.param(shell, False, id="not wanted"),
        pytest.param(describe, True, id="the control is refused"),
        pytest.param(lambda url: "<title>Viewer</title><p>Loading the viewer", True, id="a page without scripts"),
    ],
)
def test_nothing_else_is_shown_by_a_browser(answer: Answer, is_on: bool) -> None:
    world = World(["x5", "y6"], answer, replace(RULES, rendering=is_on))
    asked = {question for _, question in world.talk()}
    assert asked.isdisjoint({Question.RENDERED, Question.CONTROL_RENDERED})
    assert sorted(world.finished) == sorted(url for _, url in world.targets)


@given(st.lists(st.integers(0, 5), max_size=30))
def test_an_app_shell_beside_an_error_page_is_finished_in_any_order_of_answers(order: list[int]) -> None:
    def answer(url: str) -> str:
        return shell(url) if "/x" in url and len(url.rpartition("/x")[2]) < 9 else "<title>Page not found</title>"

    world = World(["x5", "x6"], answer, replace(RULES, rendering=True))
    asked = world.talk(order)
    assert sorted(world.finished) == sorted(url for _, url in world.targets)
    assert len(asked) == len(set(asked))


HOME = "<title>Welcome</title><p>Our collections are open to all readers from nine to five, every day of the week.</p>"


def registry_of(target: str) -> Registry:
    return Registry((RegistryEntry("12x45", targets=(ResolverTarget(target),)),), "a test")


def outcomes_of(world: World, folder: Path) -> dict[str, ObjectOutcome]:
    """Return the outcomes by the names of ARKs, judged from the content of the store."""
    with Store.open(folder / "audit.db") as store:
        run_id = store.begin_run(
            command="check", at="2026-11-21T10:00:00.000+00:00", version="0", resolver="", user_agent="", seeds=[]
        )
        store.record(run_id, world.seen)
        return {each.ark.name: each.object.outcome for each in verdicts_of_run(store, run_id, world.targets)}


def test_soft_404_pages_are_compared_with_the_control_of_their_host(tmp_path: Path) -> None:
    def answer(url: str) -> str:
        return HOME if "t.example" in url else "<title>Page not found</title><p>Page not found</p>"

    world = World(["x5"], answer, replace(RULES, registry=registry_of("https://t.example/${pid}")))
    world.talk()
    keys = [(each.request_url, each.question, each.attempt) for each in world.seen]
    assert len(keys) == len({*keys})
    assert {Question.CONTROL, Question.CONTROL_ELSEWHERE} <= {each.question for each in world.seen}
    assert outcomes_of(world, tmp_path) == {"x5": ObjectOutcome.SOFT_404}


@pytest.mark.parametrize("names", [["x5"], ["x6", "x5"]])
def test_global_resolver_is_compared_with_its_own_control(names: list[str], tmp_path: Path) -> None:
    def answer(url: str) -> str | int:
        if "n2t.example" in url:
            return HOME
        return "<p>A notebook, forty leaves" if url.partition("?")[0].endswith("/x6") else 404

    rules = replace(RULES, registry=registry_of(R + "${pid}"), resolver="https://n2t.example/")
    world = World(names, answer, rules)
    world.talk()
    assert outcomes_of(world, tmp_path)["x5"] is ObjectOutcome.BROKEN


def test_a_landing_host_is_asked_for_what_cannot_exist_once_a_pattern_of_its_addresses(tmp_path: Path) -> None:
    names = ["x5", "x6", "x7"]

    def answer(url: str) -> int | str | tuple[str, str]:
        name = url.partition("?")[0].rpartition("/")[2]
        if "r.example" not in url:
            return "<title>land.example</title><p>This domain is parked"
        place = "page" if name == "x7" else "item"
        parked = "<title>land.example</title><p>This domain is parked"
        return (f"https://land.example/{place}/{name}", parked) if name in names else 404

    world = World(names, answer)
    world.talk()
    asked = [each.asked_url for each in world.seen if each.question is Question.CONTROL_LANDING]
    assert sorted(url.rpartition("/")[0] for url in asked) == ["https://land.example/item", "https://land.example/page"]
    assert set(outcomes_of(world, tmp_path).values()) == {ObjectOutcome.SOFT_404}


@pytest.mark.parametrize(
    "address",
    [
        "details/{name}/page/n1/mode/2up", "{name}?sf_culture=fr", "index.php/{name};isad?langue=fr",
        "digital/collection/{name}/id/42/rec/1", "node/{name}/fr", "ark:/12148/{name}/f1.item",
    ],
)  # fmt: skip
@pytest.mark.parametrize("knows_its_names", [True, False])
def test_an_ignored_part_of_an_address_does_not_make_an_error_page(
    address: str, knows_its_names: bool, tmp_path: Path
) -> None:
    names = ["harbour1", "vase2"]

    def answer(url: str) -> int | str | tuple[int | str, str]:
        if url.startswith(R):
            name = url.partition("?")[0].rpartition("/")[2]
            landing = f"https://land.example/{address.format(name=name)}"
            return (landing, shown(landing)) if name in names else 404
        return shown(url) or 404

    def shown(url: str) -> str:
        own = next((name for name in names if f"/{name}" in url), "")
        if not knows_its_names:
            return "<title>Land</title><h1>Page not found</h1>"
        return own and f"<title>{own}</title><h1>{own}</h1><p>Drawn by Ada Rossi. The frame was not found again."

    world = World(names, answer)
    world.talk()
    every = [each.asked_url for each in world.seen if each.question is Question.CONTROL_EVERY_PART]
    assert len(every) == 1
    assert not any(name in every[0] for name in names)
    expected = ObjectOutcome.RESOLVED if knows_its_names else ObjectOutcome.SOFT_404
    assert outcomes_of(world, tmp_path) == dict.fromkeys(names, expected)


MADE_UP = [
    "Whether the lamp of a captain may be mended is a question for the tailor, who walks upon the quay",
    "Nobody weighed the thunder before breakfast, and so a baker kept his promises in glass bottles",
    "Take two windows, fold them gently under the moon, and stir until each parliament of frogs is quiet",
    "Seventeen almanacs agreed that ladders dream downward; their colonel returned his shadow with interest",
]


@pytest.mark.parametrize("place", ["", "https://land.example/"])
@pytest.mark.parametrize(
    ("pages", "outcome"),
    [
        (MADE_UP, ObjectOutcome.UNDETERMINED),
        ([*MADE_UP[:2], *["The catalogue has no such shelf mark"] * 9], "resolved"),
    ],
    ids=["made up for each name", "an object each, and one page for all other names"],
)
def test_pages_made_up_for_each_name_show_no_object(pages: list[str], outcome: str, place: str, tmp_path: Path) -> None:
    shown: dict[str, str] = {}

    def answer(url: str) -> int | str | tuple[str, str]:
        name = url.partition("?")[0].rpartition("/")[2]
        if place and url.startswith(R):
            return (f"{place}{name}", page(name)) if name in ("x5", "x6") else 404
        return page(name)

    def page(name: str) -> str:
        others = (text for text in pages if text not in shown.values() or text in pages[4:])
        return f"<p>{shown.setdefault(name, next(others, pages[-1]))}"

    world = World(["x5", "x6"], answer)
    world.talk()
    assert [each.question for each in world.seen].count(Question.CONTROL_OTHER) == 1
    assert outcomes_of(world, tmp_path) == {"x5": outcome, "x6": outcome}


LOG_IN = "<title>Sign in</title><form><input type=password></form>"


def controls_again(world: World) -> int:
    return sum(each.question is Question.CONTROL_AGAIN for each in world.seen)


@given(
    st.lists(st.integers(0, 5), max_size=30),
    st.integers(2, 6),
    st.sampled_from([R, "https://sign-on.example/"]),
    st.sampled_from([LOG_IN, "<title>Library</title><p>Confirm that you have read the terms of use."]),
)
@settings(max_examples=12)
def test_new_login_wall_is_found_in_any_order_of_answers(order: list[int], before: int, place: str, page: str) -> None:
    names, served, walled = [f"x{letter}" for letter in "bcdfghjkmnpq"], Counter[str](), set[str]()

    def answer(url: str) -> int | str | tuple[str, str]:
        name = url.rpartition("/")[2]
        if not url.startswith(R):
            return page
        served["requests"] += 1
        if served["requests"] > before and served["control"]:
            walled.update({name}.intersection(names))
            return f"{place}login?next={url}", page
        served["control"] += name.partition("?")[0] not in names
        return f"<title>Notebook {name}</title><p>Forty leaves, {name}" if name in names else 404

    world = World(names, answer)
    world.talk(order)
    with TemporaryDirectory() as folder:
        outcomes = outcomes_of(world, Path(folder))
    expected = {name: ObjectOutcome.BLOCKED if name in walled else ObjectOutcome.RESOLVED for name in names}
    assert len(walled) < 2 or outcomes == expected
    assert sorted(world.finished) == sorted(url for _, url in world.targets)


@pytest.mark.parametrize(
    ("names", "asked"),
    [(["x1", "x2", "x3", "x4", "x5"], 3), (["x1/1", "x1/2", "x1.v2"], 0), (["x1"], 0)],
    ids=["objects of a collection", "parts and versions of one object", "one object"],
)
def test_shared_page_costs_few_controls_and_stays_resolved(names: list[str], asked: int, tmp_path: Path) -> None:
    def answer(url: str) -> int | tuple[str, str]:
        name = url.partition("ark:/12x45/")[2]
        return (f"{R}collection", "<title>Maps</title><p>Three hundred maps of Lyon") if name in names else 404

    world = World(names, answer)
    world.talk()
    assert controls_again(world) == asked
    assert set(outcomes_of(world, tmp_path).values()) == {ObjectOutcome.RESOLVED}


def test_control_that_explains_a_shared_page_is_asked_once() -> None:
    world = World(["x1", "x2", "x3"], lambda url: (f"{R}home", HOME))
    world.talk()
    assert controls_again(world) == 0


GONE = "<title>Borta</title><p>Posten togs bort"
PAGES: Mapping[str, Callable[[str], int | str | tuple[int | str, str]]] = {
    "x": lambda name: f"<title>Notebook {name}</title><p>Forty leaves, {name}",
    "y": lambda name: 404,
    "g": lambda name: (410, GONE),
    "r": lambda name: (f"https://land.example/item/{name}", f"<title>Map {name}</title><p>One sheet, {name}"),
    "s": lambda name: "<title>Page not found</title><p>Page not found",
    "v": shell,
    "w": lambda name: 503,
}
"""The answers of a resolver by the first letter of a name."""


def answer_by_letter(url: str) -> int | str | tuple[int | str, str]:
    """Return the answer about the name at the end of *url*; a name that can't exist gets 404."""
    name = url.partition("?")[0].rpartition("/")[2]
    if not url.startswith(R):
        return 404
    is_invented = len(name) > 4
    return 404 if is_invented else PAGES.get(name[:1], PAGES["y"])(name)


NAMES = st.text("xygrsvw", min_size=1, max_size=1).flatmap(
    lambda letter: st.sampled_from([f"{letter}{n}" for n in "5678"])
)


@st.composite
def doubtful_worlds(draw: st.DrawFn) -> tuple[list[str], dict[str, tuple[CandidateReading, ...]]]:
    """Names of targets, and the other readings of some of them, which may be targets too."""
    names = draw(st.lists(NAMES, min_size=1, max_size=8, unique=True))
    readings = {}
    for name in names:
        others = draw(st.lists(NAMES.filter(lambda other, name=name: other != name), max_size=2, unique=True))
        if others:
            readings[target(name)[1]] = tuple(CandidateReading(*target(other)) for other in others)
    return names, readings


@given(doubtful_worlds(), st.lists(st.integers(0, 30), max_size=60), st.integers(0, 60))
def test_verdicts_are_the_same_in_any_order_of_answers_and_after_an_interruption(
    given_world: tuple[list[str], dict[str, tuple[CandidateReading, ...]]], order: list[int], interrupted_after: int
) -> None:
    names, readings = given_world
    rules = replace(RULES, registry=registry_of("https://t.example/${pid}"), rendering=True)
    outcomes = []
    whole, disordered, interrupted = (World(names, answer_by_letter, rules, readings) for _ in range(3))
    whole.talk()
    disordered.talk(order)
    interrupted.talk(order, most=interrupted_after)
    resumed = World(names, answer_by_letter, rules, readings)
    resumed.seen = interrupted.seen
    resumed.talk(reversed(order))
    for world in (whole, disordered, resumed):
        assert set(world.finished) == {url for _, url in world.targets}
        with TemporaryDirectory() as folder:
            outcomes.append(outcomes_of(world, Path(folder)))
    assert outcomes[0] == outcomes[1] == outcomes[2]
