"""How ARKs are asked about over real sockets: again, elsewhere, in other readings, and never more than needed."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.real.loopback import ON_LOOPBACK, RawServer, check_rows, outcomes, reply, run_command, select

PAGE = reply(body="<title>An object</title><p>Forty leaves, with drawings.")
RECORD = "erc:\nwho: Rossi, Ada\nwhat: Notebook {name}\nwhen: 1952\nwhere: ark:/12x45/{name}\n"
STATED = "erc-support:\nwho: A library\nwhat: Permanent: Stable Content\nwhen: 2020\nwhere: https://library.example/\n"
Rows = list[tuple[Any, ...]]


def observations(store: Path, columns: str = "question, attempt, chain_end, status") -> Rows:
    return select(store, f"select {columns} from observation order by observation_id")


def flaky(first: bytes | None, *, times: int, then: bytes = PAGE) -> Callable[[str], bytes | None]:
    """Return a responder that answers each target *times* times with *first*, then with *then*."""
    asked: Counter[str] = Counter()

    def respond(target: str) -> bytes | None:
        asked[target] += 1
        return first if asked[target] <= times else then

    return respond


def answer_names(*names: str, page: bytes = PAGE) -> Callable[[str], bytes]:
    """Return a responder that answers only for ARKs of these names, with any query."""

    def respond(target: str) -> bytes:
        return page if target.partition("?")[0].rpartition("/")[2] in names else reply("404 Not Found")

    return respond


# -- once more


#: First answer of a host, how often it is given, and the end of the attempts. One audit asks all of them.
PASSING: dict[str, tuple[bytes | None, int, Rows]] = {
    "503": (reply("503 Service Unavailable"), 1, [("answered", 503), ("answered", 200)]),
    "429": (reply("429 Too Many Requests"), 1, [("answered", 429), ("answered", 200)]),
    "502": (reply("502 Bad Gateway"), 1, [("answered", 502), ("answered", 200)]),
    "504": (reply("504 Gateway Timeout"), 1, [("answered", 504), ("answered", 200)]),
    "a connection broken off": (None, 1, [("reset", None), ("answered", 200)]),
    "503 each time": (reply("503 Service Unavailable"), 9, [("answered", 503)] * 3),
    "500 will not pass": (reply("500 Internal Server Error"), 1, [("answered", 500)]),
    "404 will not pass": (reply("404 Not Found"), 1, [("answered", 404)]),
    "403 will not pass": (reply("403 Forbidden"), 1, [("answered", 403)]),
    "an hour is beyond our patience": (
        reply("503 Service Unavailable", Retry_After="3600"), 9, [("answered", 503)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Rows, list[str], dict[str, Any]]]:
    """Return for each of `PASSING` the attempts at its object, the requested targets, and the printed row."""
    store = tmp_path_factory.mktemp("attempts") / "a.db"
    begun = time.monotonic()
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(RawServer(flaky(first, times=times)))
            for name, (first, times, _) in PASSING.items()
        }
        urls = {name: f"{server.url}/ark:/12x45/x5" for name, server in servers.items()}
        rows = check_rows("--store", store, *urls.values())
    assert time.monotonic() - begun < 1_800, "an hour is not waited for"
    seen = observations(store, "request_url, question, attempt, chain_end, status, hops")
    return {
        name: ([row[2:] for row in seen if row[:2] == (urls[name], "object")], servers[name].targets, row)
        for name, row in zip(PASSING, rows, strict=True)
    }


@pytest.mark.parametrize("name", PASSING)
def test_temporary_failure_is_retried_with_one_row_for_each_attempt(
    name: str, attempts: dict[str, tuple[Rows, list[str], dict[str, Any]]]
) -> None:
    seen, targets, _ = attempts[name]
    ends = PASSING[name][2]
    assert [row[:3] for row in seen] == [(attempt, *end) for attempt, end in enumerate(ends, start=1)]
    assert targets.count("/ark:/12x45/x5") == len(ends)


def test_three_attempts_are_enough_and_the_verdict_says_how_often(
    attempts: dict[str, tuple[Rows, list[str], dict[str, Any]]],
) -> None:
    _, targets, row = attempts["503 each time"]
    assert targets == ["/ark:/12x45/x5"] * 3
    assert row["object"]["outcome"] == "server-error"
    assert any("3 times" in words for words in row["object"]["evidence"])


def test_a_retry_after_beyond_our_patience_is_kept(attempts: dict[str, tuple[Rows, list[str], dict[str, Any]]]) -> None:
    [(_, _, _, hops)], _, _ = attempts["an hour is beyond our patience"]
    assert json.loads(hops)[0]["headers"]["Retry-After"] == "3600"


def test_attempts_are_spaced_and_retry_after_holds_the_whole_host() -> None:
    def respond(target: str) -> bytes:
        first = target.endswith("/x0") and server.targets.count(target) == 1
        return reply("503 Service Unavailable", Retry_After="2s") if first else reply("404 Not Found")

    with RawServer(respond) as server:
        check_rows(*(f"{server.url}/ark:/12x45/x{number}" for number in range(5)))
        moments = dict(zip(server.request_lines, server.times, strict=True))
        busy = next(at for line, at in zip(server.request_lines, server.times, strict=True) if "/x0" in line)
        after = [at - busy for line, at in moments.items() if "/x" in line and at > busy]
    assert len(after) >= 5
    assert min(after) >= 1.9


# -- elsewhere


def routes_to(**servers: RawServer) -> list[str]:
    return [f"--connect-to={name.replace('_', '.')}:80=127.0.0.1:{server.port}" for name, server in servers.items()]


def with_registry(folder: Path, target: str) -> dict[str, str]:
    """Return the environment of a command whose copy of the registry sends NAAN 98765 to *target*."""
    record = {
        "what": "98765", "where": "https://library.example/", "target": {"url": target, "http_code": 302},
        "when": "2020-01-01T00:00:00+00:00", "rtype": "PublicNAAN", "who": {"name": "A library", "acronym": None},
        "na_policy": {"orgtype": "NP", "policy": "NR", "tenure": "2020", "policy_url": None}, "test_identifier": None,
    }  # fmt: skip
    source = folder / "records.json"
    source.write_text(json.dumps({"metadata": {}, "data": [record]}))
    done = run_command("registry", "update", source, ARKAUDIT_CACHE=str(folder / "cache"))
    assert done.returncode == 0, done.stderr
    return {"ARKAUDIT_CACHE": str(folder / "cache")}


def test_a_dead_resolver_is_replaced_by_the_registrys_target(tmp_path: Path) -> None:
    cache = with_registry(tmp_path, "http://registered.example/ark:/${content}")

    with RawServer(answer_names("x5")) as registered, RawServer(answer_names("x5")) as everywhere:
        [row] = check_rows(
            "--resolver", "http://global.example/", *routes_to(registered_example=registered, global_example=everywhere),
            "--connect-to=gone.example:80=127.0.0.1:9", "http://gone.example/ark:/98765/x5", **cache,
        )  # fmt: skip
        assert everywhere.targets == [], "no other resolver is asked"
        assert registered.targets[0] == "/ark:/98765/x5"
        assert "/ark:/98765/x5?info" in registered.targets
    assert outcomes([row]) == ["works-elsewhere"]


def test_ark_unknown_to_the_registrys_target_is_confirmed_at_the_global_resolver(tmp_path: Path) -> None:
    cache = with_registry(tmp_path, "http://registered.example/ark:/${content}")

    with RawServer(answer_names()) as registered, RawServer(answer_names("x5")) as everywhere:
        routes = routes_to(registered_example=registered, global_example=everywhere)
        options = ("--resolver", "http://global.example/", *routes)
        [direct] = check_rows("--direct", *options, "ark:/98765/x5", **cache)
        assert registered.targets[0] == "/ark:/98765/x5"
        assert everywhere.targets[0] == "/ark:/98765/x5"
        [split] = check_rows(*options, "http://registered.example/ark:/98765/x5", **cache)
    assert outcomes([direct, split]) == ["resolved", "resolved"]


def test_compact_arks_go_to_the_registrys_target_on_request(tmp_path: Path) -> None:
    cache = with_registry(tmp_path, "http://registered.example/item/${value}")

    with RawServer(answer_names("x5y7z")) as registered, RawServer(answer_names("x5y7z")) as everywhere:
        routes = routes_to(registered_example=registered, global_example=everywhere)
        [row] = check_rows("--direct", "--resolver", "http://global.example/", *routes, "ark:/98765/x5y7z", **cache)
        assert everywhere.targets == []
        assert registered.targets[0] == "/item/x5y7z"
        controls = [target for target in registered.targets if "x5y7z" not in target]
        assert len(controls) == 1
        assert controls[0].startswith("/item/x5")
    assert outcomes([row]) == ["resolved"]


def test_uniform_answer_of_a_registrys_target_counts_against_it_without_a_label_in_its_url(tmp_path: Path) -> None:
    cache = with_registry(tmp_path, "http://registered.example/item/${value}")
    with RawServer(lambda _: PAGE) as registered:
        [row] = check_rows("--direct", *routes_to(registered_example=registered), "ark:/98765/x5y7z", **cache)
        [control] = [target for target in registered.targets if "x5y7z" not in target]
    assert outcomes([row]) == ["undetermined"]
    assert row["rests_on"] == [f"http://registered.example{control}"]


def test_global_resolver_is_compared_with_its_own_control_after_a_soft_404() -> None:
    home = reply(body="<title>City Library</title><h1>City Library</h1><p>Opening hours and events.</p>")
    register = reply(body="<title>NAAN 12x45</title><h1>NAAN 12x45</h1><dl><dt>Organisation<dd>City Library</dl>")

    def leading_to(place: str, page: bytes) -> Callable[[str], bytes]:
        return lambda target: page if target == place else reply("302 Found", Location=place)

    with RawServer(leading_to("/", home)) as old, RawServer(leading_to("/naan/12x45", register)) as everywhere:
        routes = routes_to(old_example=old, global_example=everywhere)
        [row] = check_rows("--resolver", "http://global.example/", *routes, "http://old.example/ark:/12x45/x5y7")
        [control] = [target for target in everywhere.targets if "x5y7" not in target and target.startswith("/ark:")]
    assert outcomes([row]) == ["soft-404"]
    assert f"http://global.example{control}" in row["rests_on"]


def test_a_resolver_that_knows_one_label_form_only_is_asked_in_that(tmp_path: Path) -> None:
    def respond(target: str) -> bytes:
        return answer_names("x5")(target) if target.startswith("/ark:/") else reply("404 Not Found")

    with RawServer(respond) as server:
        [row] = check_rows("--store", tmp_path / "a.db", f"{server.url}/ark:12x45/x5")
        assert "/ark:/12x45/x5?info" in server.targets
        assert "/ark:12x45/x5?info" not in server.targets
    assert outcomes([row]) == ["resolved"]


def test_a_resolver_that_moved_within_its_host_is_found_by_the_hosts_own_word(tmp_path: Path) -> None:
    def respond(target: str) -> bytes:
        if target == "/.well-known/ark":
            return reply(body="/index.php/ids/", media_type="text/plain")
        name = target.partition("?")[0].rpartition("/")[2]
        is_known = target.startswith("/index.php/ids/") and name in ("x5", "y6")
        return reply(body=f"<title>Object {name}</title><p>Forty leaves.") if is_known else reply("404 Not Found")

    with RawServer(respond) as server:
        rows = check_rows(
            "--store", tmp_path / "a.db", *(f"{server.url}/ark:/12x45/{name}" for name in ("x5", "y6", "z7"))
        )
        assert server.targets.count("/.well-known/ark") == 1, "once a host"
        assert {f"/index.php/ids/ark:/12x45/{name}" for name in ("x5", "y6", "z7")} <= set(server.targets)
        assert "/index.php/ids/ark:/12x45/x5?info" in server.targets
    assert outcomes(rows) == ["works-elsewhere", "works-elsewhere", "broken"]


def test_a_host_that_names_no_other_path_is_asked_no_further() -> None:
    def path_server(answer: bytes) -> Callable[[str], bytes]:
        return lambda target: answer if "well-known" in target else reply("404 Not Found")

    answers = reply(body="<p>Not here"), *(reply(body=path, media_type="text/plain") for path in ("not a path", "/"))
    with ExitStack() as stack:
        servers = [stack.enter_context(RawServer(path_server(answer))) for answer in answers]
        rows = check_rows(*(f"{server.url}/ark:/12x45/x5" for server in servers))
        assert [server.targets for server in servers] == [
            ["/ark:/12x45/x5", "/ark:12x45/x5", "/.well-known/ark"]
        ] * len(answers)
    assert outcomes(rows) == ["broken"] * len(answers)


def test_where_a_commitment_is_stated_in_full_is_asked_once_a_run(tmp_path: Path) -> None:
    with RawServer(lambda _: reply("404 Not Found")) as library:
        where = f"{library.url}/policy"

        def respond(target: str) -> bytes:
            name = target.partition("?")[0].rpartition("/")[2]
            statement = STATED.replace("https://library.example/", where)
            record = reply(body=f"{RECORD.format(name=name)}\n{statement}", media_type="text/plain")
            return answer_names("x5", "y6", page=record if "?" in target else PAGE)(target)

        with RawServer(respond) as server:
            check_rows("--store", tmp_path / "a.db", *(f"{server.url}/ark:/12x45/{name}" for name in ("x5", "y6")))
        assert library.targets == ["/policy"]
    assert ("policy link", 1, "answered", 404) in observations(tmp_path / "a.db")


# -- requests that are saved


Budget = tuple[float, Counter[str]]


@pytest.fixture(scope="module")
def budgets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Budget]:
    """Return questions for each ARK and counts of each question, for two shoulders: one describes, one doesn't."""

    def mute(target: str) -> bytes:
        name = target.partition("?")[0].rpartition("/")[2]
        is_known = re.fullmatch(r"b7[0-9]{3}k", name)
        return reply(body=f"<title>Notebook {name}</title><p>{name}") if is_known else reply("404 Not Found")

    def describe(target: str) -> bytes:
        answer, name = mute(target), target.partition("?")[0].rpartition("/")[2]
        is_described = target.endswith("?info") and b"200 OK" in answer
        return reply(body=RECORD.format(name=name), media_type="text/plain") if is_described else answer

    store = tmp_path_factory.mktemp("budget") / "a.db"
    with RawServer(describe) as first, RawServer(mute) as second:
        servers = {"describing": first, "mute": second}
        arks = [f"{server.url}/ark:/12x45/b7{number:03}k" for server in servers.values() for number in range(100)]
        rows = check_rows("--store", store, *arks)
        assert outcomes(rows) == ["resolved"] * 200
        questions = {
            name: Counter(
                row[0] for row in observations(store, "question, request_url") if row[1].startswith(server.url)
            )
            for name, server in servers.items()
        }
    return {name: (sum(counted.values()) / 100, counted) for name, counted in questions.items()}


def test_a_hundred_healthy_arks_that_describe_themselves_take_two_questions_and_a_bit(
    budgets: dict[str, Budget],
) -> None:
    average, questions = budgets["describing"]
    assert average <= 2.2, questions
    assert questions["object"] == questions["?info"] == 100
    assert questions["control"] == questions["control ?info"] == questions["??"] == 1


def test_a_hundred_healthy_arks_that_do_not_take_four_questions_and_a_bit(budgets: dict[str, Budget]) -> None:
    average, questions = budgets["mute"]
    assert average <= 4.2, questions
    assert questions["control"] == 1


def test_a_record_with_a_commitment_is_not_asked_for_one_again() -> None:
    def respond(target: str) -> bytes:
        record = reply(body=f"{RECORD.format(name='x5')}\n{STATED}", media_type="text/plain")
        return answer_names("x5", page=record if "?" in target else PAGE)(target)

    with RawServer(respond) as server:
        [row] = check_rows(f"{server.url}/ark:/12x45/x5")
        assert "/ark:/12x45/x5??" not in server.targets
    assert row["commitment"]["outcome"] == "stated"


# -- other readings


def test_the_other_reading_of_a_doubtful_line_break_is_asked_only_when_the_first_fails(tmp_path: Path) -> None:
    with RawServer(answer_names("n3kp7w", "b7x5")) as server:
        # A line break cuts the first short, and the word after it may belong to the name.
        text = f"See {server.url}/ark:/12x45/n3kp\n7w and {server.url}/ark:/12x45/b7x5 for more."
        (tmp_path / "letter.txt").write_text(text)
        done = run_command("run", *ON_LOOPBACK, tmp_path / "letter.txt", "--store", tmp_path / "a.db")
        assert done.returncode == 0, done.stderr
        mentions = select(tmp_path / "a.db", "select request_url, alternatives from mention")
        asked = {target.partition("?")[0] for target in server.targets}
    assert "/ark:/12x45/n3kp7w" in asked
    others = [alternative for _, found in mentions for alternative in json.loads(found)]
    assert others, "the line break leaves a doubt"


def test_suggestions_are_asked_when_a_check_character_fails(tmp_path: Path) -> None:
    # btv1b8449961v is btv1b8449691v with two characters swapped.
    def respond(target: str) -> bytes:
        return PAGE if "btv1b8449691v" in target else reply("404 Not Found")

    with RawServer(respond) as server:
        check_rows("--store", tmp_path / "a.db", f"{server.url}/ark:/12148/btv1b8449961v")
        assert "/ark:/12148/btv1b8449691v" in server.targets
    arks = observations(tmp_path / "a.db", "request_url, question")
    assert (f"{server.url}/ark:/12148/btv1b8449691v", "object") in arks


# -- as it was written


def paths(*known: str, page: bytes = PAGE) -> Callable[[str], bytes]:
    """Return a responder that answers for exactly these paths, with any query."""
    return lambda target: page if target.partition("?")[0] in known else reply("404 Not Found")


def test_a_slash_at_the_end_of_a_url_is_sent_and_may_be_wrong() -> None:
    cases = [
        ("ark:/12x45/x5/", "/ark:/12x45/x5/", ["/ark:/12x45/x5/"]),
        ("ark:/12x45/x5/", "/ark:/12x45/x5", ["/ark:/12x45/x5/", "/ark:/12x45/x5"]),
        ("ark:/12x45/x5", "/ark:/12x45/x5", ["/ark:/12x45/x5"]),
        ("ark:/12x45/x5/", "/ark:12x45/x5/", ["/ark:/12x45/x5/", "/ark:/12x45/x5", "/ark:12x45/x5/"]),
        ("ark:/12x45/x5/p3/", "/ark:/12x45/x5/p3/", ["/ark:/12x45/x5/p3/"]),
        ("ARK:/12x45/x5", "/ark:/12x45/x5", ["/ARK:/12x45/x5", "/ark:/12x45/x5"]),
    ]
    with ExitStack() as stack:
        servers = [stack.enter_context(RawServer(paths(known))) for _, known, _ in cases]
        rows = check_rows(*(f"{server.url}/{written}" for server, (written, *_) in zip(servers, cases, strict=True)))
        for server, row, (written, _, asked) in zip(servers, rows, cases, strict=True):
            objects = [target for target in server.targets if "?" not in target and "x5" in target]
            assert objects[: len(asked)] == asked
            assert row["ark"] == ("ark:12x45/x5/p3" if "p3" in written else "ark:12x45/x5")
    assert outcomes(rows) == ["resolved"] * len(cases)


def test_a_name_that_cant_exist_is_asked_for_with_the_slash_that_the_others_have() -> None:
    with RawServer(lambda target: PAGE if target.partition("?")[0].endswith("/") else reply("404 Not Found")) as server:
        [row] = check_rows(server.url + "/ark:/12x45/x5/")
    assert row["object"]["outcome"] == "undetermined", "everything that ends with a slash is answered alike"


def test_an_ark_in_capitals_is_asked_in_lower_case_too() -> None:
    cases = [
        ("ARK:/12X45/CL010066723", "/ark:/12x45/cl010066723", "ark:12x45/cl010066723"),
        ("ARK:12X45/CL-0100", "/ark:12x45/cl0100", "ark:12x45/cl0100"),
        ("ARK:/12X45/CL010066723", "/ARK:/12X45/CL010066723", None),
        ("ARK:/12X45/CL010066723", "/nothing", None),
        ("ark:/12x45/CL010066723", "/ark:/12x45/cl010066723", None),
    ]
    with ExitStack() as stack:
        servers = [stack.enter_context(RawServer(paths(lives))) for _, lives, _ in cases]
        rows = check_rows(*(f"{server.url}/{written}" for server, (written, *_) in zip(servers, cases, strict=True)))
    for row, (written, lives, meant) in zip(rows, cases, strict=True):
        assert (row["did_you_mean"] or {"ark": None})["ark"] == meant, written
        assert (row["object"]["outcome"] == "resolved") is (lives == "/" + written)


@pytest.mark.parametrize("is_late", [False, True])
def test_control_name_has_the_shape_of_the_first_target_in_any_order(is_late: bool) -> None:
    first, second = "x5abcdfghjkmnpqr", "x5stvwxzbcd"
    respond = flaky(reply("503 Service Unavailable"), times=1 if is_late else 0, then=PAGE)

    def answer(target: str) -> bytes | None:
        name = target.partition("?")[0].rpartition("/")[2]
        if name == first:
            return respond(target)
        return PAGE if name == second else reply("404 Not Found")

    with RawServer(answer) as server:
        check_rows(server.url + f"/ark:/12x45/{first}", server.url + f"/ark:/12x45/{second}")
        asked = {target.partition("?")[0].rpartition("/")[2] for target in server.targets}
    invented = asked - {first, second}
    assert {len(name) for name in invented if name.startswith("x5")} == {len(first)}
