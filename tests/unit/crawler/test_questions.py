"""The next question about an ARK, and its host: decided without a network."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arkaudit.features.explain.explanation import Step
from crawler.answers.facts import AnswerFacts
from crawler.answers.object_facts import reached_answer
from crawler.answers.probes import Shoulders, control_ark, control_url, landing_control, landing_pattern
from crawler.asking.questions import AskingContext, FallbackUrls, label_authority, next_question
from crawler.asking.shared import may_be_requested
from crawler.model.observations import ACCESS, ChainEnd, Hop, Observation, Question
from crawler.model.resolving import same_host
from extractors.model.ark import Ark
from extractors.model.check_characters import KNOWN_ZONES, CheckCharacter
from extractors.model.naan import Registry, RegistryEntry, ResolverTarget
from tests.unit.crawler.test_verdict import observation
from tests.vectors import vectors

ARK = Ark("12x45", "x5")
URL = "https://written.example/ark:/12x45/x5"
GLOBAL = "https://n2t.net/"
REGISTRY = Registry(
    (RegistryEntry("12x45", targets=(ResolverTarget("https://registered.example/ark:/${content}"),)),), "a test"
)
EVERYWHERE = FallbackUrls("https://registered.example/ark:/12x45/x5", "https://n2t.net/ark:/12x45/x5")


def answer(told: str | int, *, question: Question = Question.OBJECT, url: str = URL, at: str = "") -> AnswerFacts:
    """Return an observation that ended with a status or a token of `ChainEnd`, at another URL if given."""
    status = told if isinstance(told, int) else None
    end = ChainEnd.ANSWERED if isinstance(told, int) else ChainEnd(told)
    hops = (Hop(url, "GET", "2026-11-21T00:00:00.000+00:00", 302),) if at else ()
    last = Hop(at or url, "GET", "2026-11-21T00:00:00.000+00:00", status)
    return AnswerFacts.from_observation(Observation(Ark.parse("ark:12x45/x5"), url, question, url, (*hops, last), end))


def questions_asked(
    given: Mapping[str, str | int],
    *,
    known: AskingContext | None = None,
    places: FallbackUrls = EVERYWHERE,
    url: str = URL,
) -> list[str]:
    """Return the questions in order, each answered as *given* by its token, or else with 404."""
    answers: dict[Question, AnswerFacts] = {}
    while (following := next_question(answers, known or AskingContext(), places, first_url=url)) is not None:
        question, where = following
        assert question not in answers, "asked twice"
        answers[question] = answer(given.get(question.value, 404), question=question, url=where)
    return [question.value for question in answers]


@pytest.mark.parametrize("vector", vectors("questions"))
def test_questions_follow_vectors(vector: dict[str, Any]) -> None:
    known = AskingContext(**vector.get("known", {}))
    places = EVERYWHERE if "places" not in vector else FallbackUrls(**vector["places"])
    url = vector.get("url", URL)
    assert questions_asked(vector["told"], known=known, places=places, url=url) == vector["asked"]


@pytest.mark.parametrize("status", [404, 500, 503])
def test_answer_of_landing_host_is_final(status: int) -> None:
    answers = {Question.OBJECT: answer(status, at="https://landing.example/x5")}
    following = next_question(answers, AskingContext(), EVERYWHERE, first_url=URL)
    assert following is None or following[0] is Question.INFO


def test_a_tombstone_is_asked_for_metadata_and_in_no_other_form() -> None:
    words = {"title": "Item removed", "text": "This item has been removed at the request of its author."}
    gone = replace(answer(410), **words)
    answers = {Question.OBJECT: gone}
    assert next_question(answers, AskingContext(), EVERYWHERE, first_url=URL) == (Question.INFO, f"{URL}?info")
    answers[Question.INFO] = answer(410, question=Question.INFO, url=f"{URL}?info")
    assert next_question(answers, AskingContext(), EVERYWHERE, first_url=URL) is None
    unexplained = {Question.OBJECT: answer(410)}
    following = next_question(unexplained, AskingContext(), EVERYWHERE, first_url=URL)
    assert following == (Question.OTHER_LABEL, "https://written.example/ark:12x45/x5")


def test_metadata_are_asked_for_where_the_object_was_found_instead_of_a_page_of_nothing() -> None:
    nothing = replace(answer(200), title="Item not found", text="Item not found")
    answers, known = {Question.OBJECT: nothing}, AskingContext(is_soft_404=True)
    found = "https://registered.example/ark:/12x45/x5"
    assert next_question(answers, known, EVERYWHERE, first_url=URL) == (Question.AT_REGISTRY, found)
    answers[Question.AT_REGISTRY] = answer(200, question=Question.AT_REGISTRY, url=found)
    assert reached_answer(answers) is answers[Question.AT_REGISTRY]
    assert next_question(answers, known, EVERYWHERE, first_url=URL) == (Question.INFO, f"{found}?info")


@pytest.mark.parametrize("vector", vectors("passed_on"))
def test_questions_to_a_host_that_got_the_ark_by_redirect(vector: dict[str, Any]) -> None:
    url, at = vector["url"], vector["at"]
    answers = {Question.OBJECT: answer(vector["status"], url=url, at=at)}
    known = AskingContext(**vector.get("known", {}))
    places = EVERYWHERE if "places" not in vector else FallbackUrls(**vector["places"])
    following = []
    while (request := next_question(answers, known, places, first_url=url)) is not None:
        question, asked_url = request
        following.append(question.value)
        answers[question] = answer(404, question=question, url=asked_url, at=at)
    assert following == vector["asked"]


@pytest.mark.parametrize(
    ("at", "place"),
    [
        ("", "https://written.example/"),
        ("https://landing.example/r/ark:/12x45/x5", "https://landing.example/r/"),
        ("https://landing.example/view?id=ark%3A%2F12x45%2Fx5", "https://landing.example/"),
        ("https://landing.example/r/ark:12x45/x5", "https://written.example/"),
        ("https://landing.example/items/x5", "https://written.example/"),
    ],
)
def test_whose_label_form_it_is(at: str, place: str) -> None:
    assert label_authority(URL, answer(404, at=at)) == place
    assert label_authority(URL, None) == "https://written.example/"


@given(
    st.dictionaries(
        st.sampled_from([each.value for each in Question]), st.sampled_from([200, 302, 403, 404, 500, "dns", "timeout"])
    )
)
def test_questions_end_and_are_never_repeated(told: dict[str, str | int]) -> None:
    assert len(questions_asked(told)) <= len(ACCESS) + 3


def test_a_redirect_to_its_own_https_is_still_the_resolver() -> None:
    assert answer(404, at="http://www.written.example/ark:/12x45/x5").is_from_resolver
    assert not answer(404, at="https://landing.example/x5").is_from_resolver


def test_hosts_differ_by_name_and_addresses_by_port() -> None:
    assert same_host("http://n2t.net/", "https://n2t.net:443/")
    assert not same_host("http://n2t.net.example/", "http://n2t.net/")
    assert not same_host("http://n2t.net:port/", "http://n2t.net/")
    assert not same_host("http://n2t.net:port/", "http://n2t.net:port/"), "no request can be made of either"
    assert same_host("HTTP://[::1]:80/ark:/12148/x?http://n2t.net/", "http://[::1]#ark:/12148/x")
    assert not same_host("http://[::1/", "http://n2t.net/")


@pytest.mark.parametrize(
    ("url", "places"),
    [
        (URL, EVERYWHERE),
        ("https://n2t.net/ark:/12x45/x5", FallbackUrls(EVERYWHERE.at_registry, None)),
        ("http://www.n2t.net/ark:/12x45/x5", FallbackUrls(EVERYWHERE.at_registry, "https://n2t.net/ark:/12x45/x5")),
        ("https://registered.example/ark:/12x45/x5", FallbackUrls(None, EVERYWHERE.at_global, is_target=True)),
    ],
)
def test_an_ark_is_not_asked_for_twice_in_one_place(url: str, places: FallbackUrls) -> None:
    assert FallbackUrls.for_ark(ARK, url, registry=REGISTRY, global_resolver=GLOBAL) == places


def test_the_global_resolver_is_given_the_ark_as_it_was_found() -> None:
    places = FallbackUrls.for_ark(
        ARK, "https://gone.example/r/ark:12x45/x-5", registry=REGISTRY, global_resolver=GLOBAL
    )
    assert places.at_global == "https://n2t.net/ark:12x45/x-5"


def test_metadata_are_asked_for_where_the_object_is() -> None:
    without = "https://written.example/ark:/12x45/x5"
    answers = {
        Question.OBJECT: answer(404, url="https://written.example/ark:/12x45/x-5"),
        Question.HYPHENS: answer(200, question=Question.HYPHENS, url=without),
    }
    assert reached_answer(answers) is answers[Question.HYPHENS]
    first = "https://written.example/ark:/12x45/x-5"
    assert next_question(answers, AskingContext(), EVERYWHERE, first_url=first) == (Question.INFO, f"{without}?info")


@given(
    st.sampled_from(["12148", "13960", "67531", "99166"]),
    st.from_regex(r"[A-Za-z0-9=~*+@_$:.]{0,8}[a-z0-9]{4,20}", fullmatch=True),
)
def test_a_control_is_another_name_of_the_same_resolver_and_naan(naan: str, name: str) -> None:
    ark = Ark(naan, name.replace(".", ""))
    url = control_url(f"https://n2t.net/{ark}", ark, Registry.builtin())
    assert url is not None
    control = Ark.parse(url)
    assert url.startswith("https://n2t.net/ark:")
    assert control.naan == naan
    assert not control.name.startswith(ark.name)
    assert ark.shoulder in (control.shoulder, ark.name)
    assert KNOWN_ZONES.check(control) is not CheckCharacter.PASSES
    assert len(control.name) >= len(ark.name)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("metadc2846", r"metadc\d{10}"),
        ("B7CX", r"B\d[BCDFGHJKMNPQRSTVWXZ]{9}"),
        ("550e8400e29b41d4a716446655440000", r"5[0-9a-f]{31}"),
        ("1:1:C4H8", r"1:\d:[BCDFGHJKMNPQRSTVWXZ]\d[BCDFGHJKMNPQRSTVWXZ]\d{6}"),
    ],
)
def test_a_control_has_the_shape_of_the_names_around_it(name: str, shape: str) -> None:
    found = control_ark(Ark("12x45", name), "https://n2t.net/").name
    assert re.fullmatch(shape, found), found


@given(
    st.lists(st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True), min_size=1, max_size=5),
    st.sampled_from(["", "?id=7", "?langue=fr", "?q=blue-vase&sf_culture=fr", "?view=2up"]),
    st.booleans(),
)
def test_an_invented_address_differs_in_each_part(path: list[str], query: str, every: bool) -> None:
    url = f"https://library.example/{'/'.join(path)}{query}"
    control = landing_control(url, every=every)
    assert not control.startswith(url)
    assert landing_pattern(control, every=every) == landing_pattern(url, every=every)


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://archive.example/details/harbourmap/page/n1/mode/2up", "/details/*/page/*/mode/*"),
        ("https://archive.example/blue-vase?sf_culture=fr", "/*?sf_culture=*"),
        ("https://archive.example/index.php/blue-vase;isad?langue=", "/index.php/*?langue=*"),
        ("https://archive.example/digital/collection/p1/id/42/rec/1", "/digital/collection/*/id/*/rec/*"),
        ("https://archive.example/node/42/fr", "/node/*/*"),
        ("https://archive.example/ark:/12148/bpt6k1/f1.item", "/ark:/12148/*/*"),
        ("https://archive.example/view?docId=ft/b42/b42.xml&chunk=d1", "/view?docId=ft/*/*&chunk=*"),
        ("https://archive.example/item/42", "/item/*"),
        ("https://archive.example/en/objets/blue-vase", "/en/*/*"),
        ("https://archive.example/objets/42", "/objets/*"),
    ],
)
def test_every_part_that_may_identify_a_thing_is_changed(url: str, pattern: str) -> None:
    assert landing_pattern(url, every=True) == f"https://archive.example{pattern}"


def test_every_part_of_an_address_in_the_query_is_changed() -> None:
    control = landing_control(
        "https://archive.example/viewer?manifest=https://iiif.example/iiif/b42/manifest", every=True
    )
    assert control.startswith("https://archive.example/viewer?manifest=https://iiif.example/iiif/")
    assert "b42" not in control


def test_a_target_without_a_label_has_a_control_too() -> None:
    registry = Registry(
        (RegistryEntry("12x45", targets=(ResolverTarget("https://registered.example/item/${value}"),)),), "a test"
    )
    url = registry.target(ARK)
    assert url is not None
    control = control_url(url, ARK, registry)
    assert control is not None
    assert control.startswith("https://registered.example/item/")
    assert not control.startswith(url)
    assert control_url("https://registered.example/elsewhere", ARK, registry) is None


def test_a_lone_name_has_no_shoulder_of_its_own_and_a_registered_one_has() -> None:
    registry = Registry((RegistryEntry("12x45", "b9"),), "a test")
    shoulders = Shoulders.among([Ark("12x45", name) for name in ("b9x", "c2x", "d3a", "d3b", "d3c")], registry)
    assert [shoulders.shoulder_of(Ark("12x45", name)) for name in ("b9x", "c2x", "d3a")] == ["b9", "", "d3"]


@pytest.mark.parametrize(
    ("policy", "is_asked"),
    [
        pytest.param("https://library.example/policy", True, id="an address"),
        pytest.param("https://bücher.example/policy", True, id="an address in another script"),
        pytest.param(
            "https://me:secret@library.example/policy", True, id="one with a name and password, which are not sent"
        ),
        pytest.param("https://library.example:port/policy", False, id="an impossible port"),
        pytest.param("https://library.example/" + "x" * 2_000, False, id="a very long one"),
        pytest.param("https://library.example/ark:/99999/x5", False, id="a test ARK"),
    ],
)
def test_which_policies_are_asked_for(policy: str, is_asked: bool) -> None:
    assert may_be_requested(policy) is is_asked


def test_a_step_quotes_what_a_refusing_page_says_and_when_to_ask_again() -> None:
    told = {"chain": [429], "headers": {"Retry-After": "2.7"}, "type": "text/html", "body": "<p>Come back later."}
    came = " ".join(Step.from_observation(observation(Question.OBJECT, told)).came)
    assert "says “Come back later.”; it asks to wait (Retry-After: 2.7)" in came
