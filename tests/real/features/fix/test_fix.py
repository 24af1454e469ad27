"""`arkaudit fix`: what it writes and what it leaves out, and that no file is ever harmed."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count, groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from arkaudit.features.fix import writing
from arkaudit.features.fix.checks import lasting_address
from arkaudit.features.fix.corrections import Kind
from arkaudit.features.fix.files import FixedFile, fixed_files
from arkaudit.features.fix.patches import quoted_name
from arkaudit.features.fix.sources import Source, Unfixable
from crawler.history.ark_status import StatusPolicy
from crawler.history.latest import rebuild
from crawler.model import schema
from crawler.store.store import Store
from tests.growth import LINEAR, growth
from tests.real.loopback import run_command
from tests.real.read_only import read_only
from tests.report_world import ark_row, hop, mention_row, observation_row, write_store
from tests.vectors import rows, vectors

FIXTURES = Path(__file__).parents[3] / "fixtures"
CASES = rows("fixes")

#: Documents of each format around a citation.
DOCUMENTS: Mapping[str, str] = {
    "letter.txt": "Voir @ (BnF).\nLa suite.\n",
    "letter.md": "# Lettre\n\nVoir *@* (BnF), [là](https://example.org/).\n",
    "letter.rst": "Lettre\n======\n\nVoir @ (BnF).\n",
    "letter.adoc": "= Lettre\n\nVoir @ (BnF).\n",
    "page.html": "<!doctype html><meta charset=utf-8><p>Voir <i>@</i> (BnF).\n",
    "thesis.tex": "\\documentclass{article}\n\\begin{document}\nVoir \\emph{@} (BnF).\n\\end{document}\n",
    "table.csv": 'titre,note\r\nCarte,"Voir @ (BnF)"\r\n',
}
#: What breaks a citation, and what it was before.
BREAKS = {
    "line break": ("ark:/12148/bpt6k10\n7371t", "ark:/12148/bpt6k107371t"),
    "line break in a URL": (
        "https://gallica.bnf.fr/\nark:/12148/bpt6k107371t",
        "https://gallica.bnf.fr/ark:/12148/bpt6k107371t",
    ),
    "soft hyphen": ("ark:/12148/bpt6k10\N{SOFT HYPHEN}7371t", "ark:/12148/bpt6k107371t"),
    "dash": ("ark:/12148/bpt6k10\N{EN DASH}7371t", "ark:/12148/bpt6k10-7371t"),
    "zero width": ("ark:/12148/bpt6k10\N{ZERO WIDTH SPACE}7371t", "ark:/12148/bpt6k107371t"),
    "full width": ("ark\N{FULLWIDTH COLON}/12148/bpt6k107371t", "ark:/12148/bpt6k107371t"),
    "blank": ("ark :/12148/bpt6k107371t", "ark:/12148/bpt6k107371t"),
}


def document(name: str, citation: str) -> bytes:
    """Return a document with *citation*."""
    return DOCUMENTS[name].replace("@", citation).encode()


def as_bytes(case: dict[str, Any], key: str) -> bytes:
    if "fixture" in case:
        return (FIXTURES / case["fixture"]).read_bytes()
    text = case[key if key in case else "before"]
    return bytes(text.encode(case.get("charset", "utf-8")))


def read(folder: Path, files: Mapping[str, bytes]) -> dict[str, FixedFile]:
    """Return each of *files*, which are written into *folder*, with its corrections."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    paths = {folder / name: name for name in files}
    fixed = {paths[file.path]: file for file in fixed_files(list(paths), {Kind.SPELLING}, jobs=1)}
    return {name: fixed.get(name, FixedFile(folder / name, old_bytes=data)) for name, data in files.items()}


def content(file: FixedFile) -> bytes:
    return file.new_bytes if file.corrections else file.path.read_bytes()


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FixedFile]:
    """Return all broken documents with their corrections, read together."""
    folder = tmp_path_factory.mktemp("broken")
    files = {f"{kind}/{name}": document(name, written) for kind, (written, _) in BREAKS.items() for name in DOCUMENTS}
    for number, case in enumerate(CASES):
        for name, text in case.get("beside", {}).items():
            (folder / str(number)).mkdir(exist_ok=True)
            (folder / str(number) / name).write_text(text)
        files[f"{number}/{case['name']}"] = as_bytes(case, "before")
    return read(folder, files)


@pytest.mark.promise
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("kind", BREAKS)
def test_fix_restores_the_document_before_the_break(broken: dict[str, FixedFile], kind: str, name: str) -> None:
    file = broken[f"{kind}/{name}"]
    assert content(file) == document(name, BREAKS[kind][1]), file.unwritten_corrections


@pytest.mark.promise
@pytest.mark.parametrize("case", vectors("fixes"))
def test_fix_case(broken: dict[str, FixedFile], case: dict[str, Any]) -> None:
    file = broken[f"{CASES.index(case)}/{case['name']}"]
    assert content(file) == as_bytes(case, "after"), file.unwritten_corrections
    refusals = {other.refusal for other in file.unwritten_corrections}
    for refusal in case.get("refusals", ()):
        assert [each for each in refusals if each.endswith(refusal.removeprefix("…"))], refusals


@pytest.mark.promise
def test_second_run_changes_nothing(broken: dict[str, FixedFile], tmp_path: Path) -> None:
    again = read(tmp_path, {name: content(file) for name, file in broken.items() if file.corrections})
    assert [(name, file.corrections) for name, file in again.items() if file.corrections] == []


def test_places_of_many_citations_are_found_in_linear_time() -> None:
    def find(count: int) -> None:
        citations = [f"ark:/99152/x{number:07}" for number in range(count)]
        page = "".join(f"<p title='a'>{each}</p>\n<!-- x -->" for each in citations)
        source = Source(page.encode())
        for citation in citations:
            assert len(list(source.occurrences(citation))) == 1

    assert growth(find, 150) <= LINEAR


BROKEN = "Voir ark:/12148/bpt6k10\n7371t (BnF).\n"
WHOLE = "Voir ark:/12148/bpt6k107371t (BnF).\n"


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")
    return subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


# Patches.


@pytest.mark.promise
def test_git_apply_takes_the_patch_of_every_format_and_name(
    broken: dict[str, FixedFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {name: file.old_bytes or file.path.read_bytes() for name, file in broken.items() if file.corrections}
    files = {name: data for name, data in files.items() if not {0, 27} & set(data)}
    expected = {os.fsencode(name): content(broken[name]) for name in files}
    odd = [
        b"a letter.txt",
        b"caf\xe9.txt",
        b"caf\\udce9.txt",
        "caf\u00e9.txt".encode(),
        b"line\nbreak.txt",
        b"tab\t.txt",
        b'"q"\\.txt',
        b"-x.txt",
    ]
    for name in odd:
        files[os.fsdecode(name)] = ("D\xe9j\xe0 vu\n" * 9 + BROKEN + "Fin\n" * 9 + BROKEN.strip()).encode("cp1252")
        expected[name] = files[os.fsdecode(name)].replace(BROKEN.strip().encode(), WHOLE.strip().encode())
    for name, data in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    assert {*map(quoted_name, expected)} == {*git(tmp_path, "ls-files").splitlines()}
    git(tmp_path, "commit", "--quiet", "--message", "x")
    done = run_command("fix", ".", "--patch", "fix.patch")
    assert done.returncode == 0, done.stderr
    assert f"citations corrected by fix.patch in {len(files)} files" in done.stderr
    assert "next: git apply fix.patch" in done.stderr
    git(tmp_path, "apply", "--check", "fix.patch")
    git(tmp_path, "apply", "fix.patch")
    assert {name: Path(os.fsdecode(name)).read_bytes() for name in expected} == expected
    git(tmp_path, "apply", "-R", "fix.patch")
    assert {name: Path(name).read_bytes() for name in files} == files


def test_patch_leaves_out_what_git_would_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    wide = Path("wide.txt")
    wide.write_bytes(BROKEN.encode("utf-16"))
    Path("good.txt").write_text(BROKEN)
    Path("../out.txt").write_text(BROKEN)
    done = run_command("fix", wide, "good.txt", "../out.txt", "--patch", "fix.patch")
    assert done.returncode == 3
    assert "wide.txt: not corrected: its encoding (utf-16-le) has no place in a patch; use --apply" in done.stderr
    assert "../out.txt: not corrected: it is outside of the current folder" in done.stderr
    assert run_command("fix", wide, "--apply").returncode == 0
    assert wide.read_bytes() == WHOLE.encode("utf-16")


# Files that are replaced.


def test_fix_apply_keeps_the_mode_and_is_idempotent(tmp_path: Path) -> None:
    letter = tmp_path / os.fsdecode(b"caf\xe9.txt")
    letter.write_text(BROKEN)
    letter.chmod(0o640)
    shown = run_command("fix", tmp_path)
    assert (shown.returncode, letter.read_text()) == (0, BROKEN)
    assert "arkaudit: 1 citation to correct in 1 file" in shown.stderr
    done = run_command("fix", tmp_path, letter, "--apply")
    assert done.returncode == 0, done.stderr
    assert "1 citation corrected in 1 file" in done.stderr
    assert (letter.read_text(), stat.S_IMODE(letter.stat().st_mode)) == (WHOLE, 0o640)
    again = run_command("fix", tmp_path, "--apply")
    assert (again.returncode, [*tmp_path.iterdir()]) == (0, [letter])
    assert "nothing to correct" in again.stderr


def test_what_is_left_out_is_counted_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("`ark:/12148/bpt6k10\N{EN DASH}7371t` and ark:/12345/x5\N{EN DASH}6\n")
    (tmp_path / "a.sh").write_text("# ark:/12148/bpt6k10\N{EN DASH}7371t\n")
    (tmp_path / "a.txt").write_text("see ark:/12148/bpt6k10 7371t here\n")
    done = run_command("fix", tmp_path)
    counts = "its NAAN is for examples or tests (1), it is in code (1), plain text in .sh files is only listed (1)"
    assert f"nothing to correct; 4 not written: {counts}, its reading is not certain (1)" in done.stderr
    assert "a.md: line 1: ark:/12148/bpt6k10\N{EN DASH}7371t -> ark:/12148/bpt6k10-7371t (spelling: " in done.stdout
    assert done.stdout.count("; not written: ") == 3


def replace_in(path: Path) -> None:
    writing.replace_file(path, BROKEN.encode(), WHOLE.encode())


def killed_at(step: int, path: Path) -> bool:
    """Replace a file in a process that is killed before this line of code; return False if it ends before."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    lines = count(1)

    def kill(*_: object) -> Any:
        if next(lines) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return kill

    sys.settrace(kill)
    with suppress(BaseException):
        replace_in(path)
    os._exit(0)


def test_kill_at_any_moment_leaves_each_file_old_or_new(tmp_path: Path) -> None:
    letter, other = tmp_path / "letter.txt", tmp_path / ".download.part"
    letter.write_text(BROKEN)
    other.write_text("of another program")
    states = []
    while killed_at(len(states) + 1, letter):
        states.append((letter.read_text(), writing.part_path(letter).exists()))
        writing.remove_parts([letter])
        assert {path.name for path in tmp_path.iterdir()} == {letter.name, other.name}
        letter.write_text(BROKEN)
    assert [state for state, _ in groupby(states)] == [(BROKEN, False), (BROKEN, True), (WHOLE, False)]
    assert len(states) > 20


def test_part_of_a_killed_run_is_removed_by_the_next(tmp_path: Path) -> None:
    letter, other = tmp_path / "letter.txt", tmp_path / ".arkaudit-fix-0123456789abcdef.part"
    letter.write_text(BROKEN)
    other.write_text("of a file that is not named")
    writing.part_path(letter).write_text("half")
    assert run_command("fix", letter, "--apply").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {letter.name, other.name}
    assert letter.read_text() == WHOLE


def test_two_runs_never_write_one_file(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    with writing._open(writing.part_path(letter), os.O_RDWR | os.O_CREAT) as descriptor:
        writing._lock(descriptor)
        done = run_command("fix", letter, "--apply")
        assert writing.part_path(letter).exists()
    assert (done.returncode, letter.read_text()) == (2, BROKEN)


@pytest.mark.parametrize("how", ["in place", "by renaming", "only its time", "only its mode"])
def test_edit_saved_in_the_last_moment_is_never_lost(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    synchronize = os.fsync

    def save(descriptor: int) -> None:
        synchronize(descriptor)
        if how == "in place":
            letter.write_text(BROKEN.replace("Voir", "Vois"))
        elif how == "by renaming":
            (tmp_path / "new").write_text(BROKEN)
            (tmp_path / "new").replace(letter)
        elif how == "only its time":
            os.utime(letter, ns=(1, 1))
        else:
            letter.chmod(0o600)

    monkeypatch.setattr(os, "fsync", save)
    with pytest.raises(Unfixable, match="it has changed since it was read"):
        replace_in(letter)
    assert letter.read_text() == (BROKEN.replace("Voir", "Vois") if how == "in place" else BROKEN)
    assert [*tmp_path.iterdir()] == [letter]


def test_attributes_and_acl_are_kept(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    # user::rw-, user:1000:r--, group::---, mask::r--, other::---
    acl = bytes.fromhex("02000000 01000600ffffffff 02000400e8030000 04000000ffffffff 10000400ffffffff 20000000ffffffff")
    inherited = acl.replace(bytes.fromhex("20000000"), bytes.fromhex("20000400"))
    try:
        os.setxattr(letter, "user.note", b"kept")
        os.setxattr(letter, "system.posix_acl_access", acl)
        os.setxattr(tmp_path, "system.posix_acl_default", inherited)
    except OSError:
        pytest.skip("this file system has no attributes or no ACL")
    before = {name: os.getxattr(letter, name) for name in os.listxattr(letter)}
    mode = letter.stat().st_mode
    replace_in(letter)
    assert {name: os.getxattr(letter, name) for name in os.listxattr(letter)} == before
    assert (letter.read_text(), letter.stat().st_mode) == (WHOLE, mode)
    os.removexattr(letter, "system.posix_acl_access")
    letter.chmod(0o640)
    writing.replace_file(letter, WHOLE.encode(), BROKEN.encode())
    assert (os.listxattr(letter), stat.S_IMODE(letter.stat().st_mode)) == (["user.note"], 0o640)


def test_file_is_left_if_its_attributes_cannot_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    read_attributes = writing._attributes
    monkeypatch.setattr(
        writing, "_attributes", lambda file: {"nowhere.x": b"1"} if isinstance(file, Path) else read_attributes(file)
    )
    with pytest.raises(Unfixable, match="can't be copied"):
        replace_in(letter)
    monkeypatch.delattr(os, "listxattr")
    with pytest.raises(Unfixable, match="can't be read on this system; use --patch"):
        replace_in(letter)
    assert (letter.read_text(), [*tmp_path.iterdir()]) == (BROKEN, [letter])


def test_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN * 9_000)
    script = f"""
import resource, signal
from pathlib import Path
from arkaudit.features.fix.writing import replace_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
path = Path({str(letter)!r})
try:
    replace_file(path, path.read_bytes(), path.read_bytes().replace(b"10\\n", b"10"))
except OSError as problem:
    print(problem.strerror)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large\n"
    assert (letter.read_text(), [*tmp_path.iterdir()]) == (BROKEN * 9_000, [letter])


def test_fix_leaves_files_alone_that_it_must_not_replace(tmp_path: Path) -> None:
    for name in ("good.txt", "only-read.txt", "target.txt", "one.txt"):
        (tmp_path / name).write_text(BROKEN)
    (tmp_path / "only-read.txt").chmod(0o444)
    (tmp_path / "link.txt").symlink_to("target.txt")
    (tmp_path / "two.txt").hardlink_to(tmp_path / "one.txt")
    bad = [tmp_path / name for name in ("only-read.txt", "link.txt", "two.txt")]
    done = run_command("fix", *bad, tmp_path / "good.txt", "--apply")
    assert done.returncode == 3
    assert (tmp_path / "good.txt").read_text() == WHOLE
    assert {path.read_text() for path in bad} == {BROKEN}
    for path, reason in zip(bad, ("read-only", "a symbolic link", "several names"), strict=True):
        assert f"{path}: not corrected: it {'has' if path.name == 'two.txt' else 'is'} {reason}" in done.stderr
    assert run_command("fix", *bad, "--apply").returncode == 2
    with read_only(tmp_path):
        again = run_command("fix", tmp_path / "target.txt", "--apply").returncode
    assert (again, (tmp_path / "target.txt").read_text()) == (2, BROKEN)


def test_fix_leaves_a_dirty_work_tree_alone_without_force(tmp_path: Path) -> None:
    letter, other = tmp_path / "letter.txt", tmp_path / "other.txt"
    git(tmp_path, "init", "--quiet")
    letter.write_text(BROKEN)
    other.write_text("committed\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "x")
    other.write_text("changed\n")
    refused = run_command("fix", letter, "--apply")
    assert (refused.returncode, letter.read_text()) == (2, BROKEN)
    assert "has uncommitted changes; commit them, or give --force" in refused.stderr
    assert run_command("fix", letter, "--apply", "--force").returncode == 0
    assert letter.read_text() == WHOLE


def test_no_program_of_the_work_tree_runs(tmp_path: Path) -> None:
    tree, ran = tmp_path / "tree", tmp_path / "ran"
    tree.mkdir()
    git(tree, "init", "--quiet")
    (tree / "letter.txt").write_text(BROKEN)
    (tree / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "x")
    hook = tree / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    for setting, value in {
        "filter.evil.clean": f"touch {ran}; cat",
        "filter.evil.smudge": f"touch {ran}; cat",
        "filter.evil.process": f"touch {ran}",
        "filter.evil.required": "true",
        "core.fsmonitor": f"touch {ran}; false",
        "diff.evil.textconv": f"touch {ran}; cat",
        "core.pager": f"touch {ran}; cat",
    }.items():
        git(tree, "config", setting, value)
    os.utime(tree / "letter.txt")
    done = run_command("fix", tree, "--apply")
    assert (done.returncode, (tree / "letter.txt").read_text()) == (0, WHOLE), done.stderr
    assert not ran.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--apply", "--patch", "x"], "give either --apply or --patch"),
        (["--force"], "--force is for --apply"),
        (["--only", "moved"], "--only moved needs --store, because it rests on checks"),
        (["--host", "n2t.net"], "--host is for --only https and --only moved"),
        (["--patch", "none/x.patch"], "none/x.patch can't be written: No such file or directory"),
        (["--patch", "LETTER"], "letter.txt is one of the files to correct; choose another name for the patch"),
        (["--store", "none.db"], "none.db"),
        (["https://n2t.net/"], "only files can be corrected, not https://n2t.net/"),
    ],
)
def test_fix_explains_mistakes_in_one_line(options: list[str], message: str, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    (tmp_path / "same.txt").symlink_to("letter.txt")
    same = tmp_path / "same.txt"
    done = run_command("fix", letter, *(str(same) if option == "LETTER" else option for option in options))
    assert (done.returncode, done.stdout, letter.read_text()) == (2, "", BROKEN)
    assert message.replace("letter.txt", "same.txt") in done.stderr
    assert done.stderr.count("\n") == 1


# With a store.

MOVED, ONCE, PLAIN, PLAIN_ONCE, TYPED, LOST, CITED = (f"ark:/12148/btv1b8449{number}" for number in range(100, 107))
URLS = {
    ark: f"http://{host}.example/{ark}"
    for ark, host in zip(
        (MOVED, ONCE, PLAIN, PLAIN_ONCE, TYPED, LOST, CITED),
        ("old", "old", "plain", "plain", "museum", "lost", "old"),
        strict=True,
    )
}
STRANGER = f"https://stranger.example/{CITED}"
COPY = "https://archive.example/2020/http://lost.example/view/105"
FAILED = {"remarks": ["the resolver as written fails; the global resolver works"], "object": "works-elsewhere"}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with three checks, over eight days, of ARKs of each kind; of two only the last one shows it."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    numbers = {ark: number for number, ark in enumerate(URLS, start=1)}
    observations: list[dict[str, Any]] = []
    verdicts: list[dict[str, Any]] = []

    def check(run: int, ark: str, verdict: dict[str, Any], question: str, *hops: dict[str, Any], url: str = "") -> None:
        url = url or URLS[ark]
        observations.append(observation_row(numbers[ark], url, question, [*hops], run_id=run))
        verdicts.append({"run_id": run, "ark_id": numbers[ark], "request_url": url, "object": "resolved"} | verdict)

    for run, days in ((4, 8), (5, 4), (2, 0)):
        is_last = days == 0
        check(run, MOVED, FAILED, "at global", hop(f"https://n2t.net/{MOVED}"))
        check(run, ONCE, FAILED if is_last else {}, "at global", hop(f"https://n2t.net/{ONCE}"))
        for ark in (PLAIN, PLAIN_ONCE):
            secure = [hop(URLS[ark], 301), hop(URLS[ark].replace("http:", "https:"))]
            check(run, ark, {}, "object", *(secure if is_last or ark == PLAIN else [hop(URLS[ark])]))
        check(run, LOST, {"object": "broken"}, "object", hop(URLS[LOST], 404))
        check(run, CITED, {"object": "server-error"}, "object", hop(URLS[CITED], 500))
        check(run, CITED, {}, "object", hop(STRANGER), url=STRANGER)
    meant = {"ark": "ark:12148/btv1b8449194", "url": "http://museum.example/ark:/12148/btv1b8449194"}
    check(2, TYPED, {"object": "broken", "did_you_mean": meant}, "object", hop(URLS[TYPED], 404))
    runs = [
        {"run_id": run, "started_at": (at - timedelta(days=days)).isoformat("T", "milliseconds")}
        for run, days in ((2, 0), (4, 8), (5, 4))
    ]
    copy = {"ark_id": numbers[LOST], "request_url": URLS[LOST], "memento_url": COPY, "outcome": "captured", "run_id": 2}
    copy |= {"timegate": "https://archive.example/", "reason": "", "hops": [hop(COPY)]}
    copy |= {"at": "2026-11-01T00:00:00.000+00:00", "memento_at": "2020-05-04T00:00:00.000+00:00"}
    path = write_store(
        tmp_path_factory.mktemp("checked") / "audit.db",
        {
            schema.run: runs,
            schema.ark: [ark_row(number, ark) for ark, number in numbers.items()],
            schema.document: [{"document_id": 1, "url": "known.txt", "hops": []}],
            schema.mention: [mention_row(1, number, number, URLS[ark]) for ark, number in numbers.items()],
            schema.observation: observations,
            schema.verdict: [row | {"verdict_id": number} for number, row in enumerate(verdicts, start=1)],
            schema.memento: [copy],
        },
    )
    with Store.open(path) as store, store.transaction() as connection:
        rebuild(connection)
    return path


def test_only_what_keeps_the_object_is_written_after_three_checks_at_hosts_of_ours(
    checked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path("page.html")
    lines = [f"<p><a href='{url}'>{url}</a>\n" for url in URLS.values()]
    in_query = f"<a href='https://p.example/?u=http%3A%2F%2Fold.example%2F{quote(MOVED, safe='')}'>x</a>"
    page.write_text("".join(lines) + in_query)
    before = page.read_text()
    done = run_command("fix", page, "--store", checked, "--apply")
    assert (done.returncode, page.read_text()) == (0, before), done.stderr
    listed = {
        f"{URLS[TYPED]} -> ark:12148/btv1b8449194 (mistyped: it is not found; this one works); not written: it is only listed",
        f"{URLS[LOST]} (archived: it fails; {COPY} is a copy of 2020-05-04); not written: it is only listed",
        f"{URLS[MOVED]} -> https://n2t.net/{MOVED} (moved: the cited resolver fails; the ARK works at this one); not written",
        f"{URLS[PLAIN]} -> {URLS[PLAIN].replace('http:', 'https:')} (https: the resolver redirects http to https); not",
    }
    assert all(line in done.stdout for line in listed), done.stdout
    assert done.stdout.count("\n") == 2 * len(listed)  # the link and its text
    asked = ("fix", page, "--store", checked, "--only", "moved", "--only", "https", "--apply")
    done = run_command(*asked)
    assert (done.returncode, page.read_text()) == (0, before)
    assert "not written: neither you (--host) nor the NAAN registry names n2t.net" in done.stdout
    assert "not written: neither you (--host) nor the NAAN registry names plain.example" in done.stdout
    done = run_command(*asked, "--host", "n2t.net", "--host", "plain.example")
    assert done.returncode == 0, done.stderr
    expected = before.replace(URLS[MOVED], f"https://n2t.net/{MOVED}")
    expected = expected.replace(URLS[PLAIN], URLS[PLAIN].replace("http:", "https:"))
    assert page.read_text() == expected, done.stdout
    assert run_command(*asked, "--host", "n2t.net").returncode == 0
    assert page.read_text() == expected


def test_spelling_and_resolver_are_corrected_together(
    checked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = URLS[MOVED].replace("btv1b", "btv1b\N{ZERO WIDTH SPACE}")
    Path("a.md").write_text(f"see {written} there\n")
    only = ("--only", "spelling", "--only", "moved", "--host", "n2t.net")
    assert run_command("fix", "a.md", "--store", checked, *only, "--apply").returncode == 0
    assert Path("a.md").read_text() == f"see https://n2t.net/{MOVED} there\n"


@pytest.mark.parametrize(
    ("days", "urls", "lasting"),
    [
        pytest.param([0, 3, 7], "aaa", "a", id="three checks in seven days"),
        pytest.param([0, 3, 6], "aaa", None, id="three in six days"),
        pytest.param([0, 8], "aa", None, id="two"),
        pytest.param([0, 1, 2, 9], "-aaa", "a", id="an earlier one found it as cited"),
        pytest.param([0, 1, 2, 9], "aaa-", None, id="the last one found it as cited"),
        pytest.param([0, 1, 8, 9], "aa-a", None, id="one between them found it as cited"),
        pytest.param([0, 4, 8], "baa", None, id="another address before"),
    ],
)
def test_address_is_lasting_if_the_last_checks_agree_on_it(days: list[int], urls: str, lasting: str | None) -> None:
    start = datetime(2026, 11, 1, tzinfo=UTC)
    checks = [(start + timedelta(days=day), None if url == "-" else url) for day, url in zip(days, urls, strict=True)]
    assert lasting_address(checks, StatusPolicy()) == lasting
