"""`arkaudit fix`: what it proposes, that a break is undone byte for byte, and that no file is ever lost."""

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from arkaudit.audits.corrected_files import write_corrected
from arkaudit.audits.fixing import FixedFile, Selection, fixed_files
from crawler.history.latest import rebuild
from crawler.model import schema
from crawler.store.store import Store
from extractors.corrections.proposals import OPTIONAL, Kind
from extractors.corrections.sources import Source
from tests.growth import LINEAR, growth
from tests.libreoffice import convert
from tests.loopback import run_command
from tests.read_only import read_only
from tests.report_world import ark_row, hop, mention_row, observation_row, write_store
from tests.vectors import vectors

CASES = [vector.values[0] for vector in vectors("fixes")]

#: Documents of each format around a citation.
DOCUMENTS: Mapping[str, str] = {
    "letter.txt": "Voir @ (BnF).\nLa suite.\n",
    "letter.md": "# Lettre\n\nVoir *@* (BnF), [là](https://example.org/).\n",
    "page.html": "<!doctype html><meta charset=utf-8><!-- @ --><p>Voir <i>@</i> (BnF).\n",
    "tei.xml": '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><p>Voir @ (BnF).</p></body></text></TEI>',
    "ead.xml": "<ead><archdesc><scopecontent><p>Voir @ (BnF).</p></scopecontent></archdesc></ead>",
    "jats.xml": "<article><body><sec><p>Voir <italic>@</italic> (BnF).</p></sec></body></article>",
    "thesis.tex": "\\documentclass{article}\n\\begin{document}\nVoir \\emph{@} (BnF).\n\\end{document}\n",
    "refs.bib": "@misc{carte, note = {Voir @ (BnF)}}\n".replace("@misc", "\0misc"),
    "refs.ris": "TY  - BOOK\r\nTI  - Carte\r\nN1  - Voir @ (BnF)\r\nER  - \r\n",
    "table.csv": 'titre,note\r\nCarte,"Voir @ (BnF)"\r\n',
    "data.json": '{"note": "Voir @ (BnF)"}',
    "book.ipynb": '{"cells": [{"cell_type": "markdown", "source": ["Voir @ (BnF)\\n"]}], "nbformat": 4}',
    "chapter.docx": "Voir @ (BnF).",
    "chapter.odt": "Voir @ (BnF).",
    "list.xlsx": "Voir @ (BnF).",
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
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
PARTS: Mapping[str, Mapping[str, str]] = {
    ".docx": {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
        f'Id="r1" Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body><w:p><w:r><w:t>@</w:t></w:r></w:p></w:body></w:document>',
    },
    ".odt": {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_OFFICE}:manifest:1.0"><m:file-entry m:full-path="/" '
        'm:media-type="application/vnd.oasis.opendocument.text"/><m:file-entry m:full-path="content.xml" '
        'm:media-type="text/xml"/></m:manifest>',
        "content.xml": f'<o:document-content xmlns:o="{_OFFICE}:office:1.0" xmlns:text="{_OFFICE}:text:1.0" o:version="1.2">'
        "<o:body><o:text><text:p>@</text:p></o:text></o:body></o:document-content>",
    },
    ".xlsx": {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_RELATIONS}"><sheets><sheet name="A" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>@</t></is>'
        "</c></row></sheetData></worksheet>",
    },
}  # fmt: skip
#: A line break in the markup of a format.
LINE_BREAKS = {".docx": "</w:t><w:br/><w:t>", ".odt": "<text:line-break/>"}


def document(name: str, citation: str) -> bytes:
    """Return a document with *citation* as its format writes it."""
    suffix = Path(name).suffix
    if suffix in (".json", ".ipynb"):
        citation = json.dumps(citation)[1:-1]
    text = DOCUMENTS[name].replace("@", citation.replace("\n", LINE_BREAKS.get(suffix, "\n"))).replace("\0", "@")
    if suffix not in PARTS:
        return text.encode()
    package = BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        for member, content in PARTS[suffix].items():
            method = zipfile.ZIP_STORED if member == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(member), content.replace("@", text), method)
    return package.getvalue()


def corrected(
    folder: Path, documents: Mapping[str, bytes], *, likely: bool = False
) -> dict[str, tuple[bytes, FixedFile]]:
    """Return each document after its corrections, and the corrections."""
    for name, data in documents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    selection = Selection(set(Kind) - OPTIONAL, likely)
    files = {str(file.path): file for file in fixed_files([folder / name for name in documents], selection, jobs=1)}
    of_name = {name: files.get(str(folder / name), FixedFile(folder)) for name in documents}
    return {
        name: (file.new_data(documents[name]) if file.corrections else documents[name], file)
        for name, file in of_name.items()
    }


def as_bytes(case: dict[str, Any], key: str) -> bytes:
    return bytes(case[key].encode(case.get("charset", "utf-8")))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, FixedFile]]:
    """Return all broken documents after their corrections, read together."""
    documents = {
        f"{kind}/{name}": document(name, written) for kind, (written, _) in BREAKS.items() for name in DOCUMENTS
    }
    documents |= {f"{number}/{case['name']}": as_bytes(case, "before") for number, case in enumerate(CASES)}
    return corrected(tmp_path_factory.mktemp("broken"), documents)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("kind", BREAKS)
def test_fix_restores_the_document_before_the_break(
    broken: dict[str, tuple[bytes, FixedFile]], kind: str, name: str
) -> None:
    fixed, file = broken[f"{kind}/{name}"]
    before = document(name, BREAKS[kind][1])
    if name == "page.html":  # its comment is no citation, and stays
        before = before.replace(BREAKS[kind][1].encode(), BREAKS[kind][0].encode(), 1)
    assert fixed == before, file.others


@pytest.mark.parametrize("case", vectors("fixes"))
def test_fix_case(broken: dict[str, tuple[bytes, FixedFile]], case: dict[str, Any]) -> None:
    fixed, file = broken[f"{CASES.index(case)}/{case['name']}"]
    assert fixed == as_bytes(case, "after" if "after" in case else "before"), file.others
    if "refusal" in case:
        assert case["refusal"] in [file.problem, *(one.refusal for one in file.others)]


@pytest.mark.parametrize("damaged", ["word/document.xml", "word/media/map.png"])
def test_fix_never_rewrites_what_it_could_not_read(damaged: str, tmp_path: Path) -> None:
    noise = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(999))
    package = BytesIO(document("chapter.docx", BREAKS["dash"][0] + " " + noise))
    with zipfile.ZipFile(package, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/map.png", noise)
        member = archive.getinfo(damaged)
    data = bytearray(package.getvalue())
    middle = member.header_offset + member.compress_size // 2
    data[middle : middle + 99] = bytes(99)
    fixed, file = corrected(tmp_path, {"a.docx": bytes(data)})["a.docx"]
    if damaged == "word/document.xml":
        assert (fixed, file.problem[:23]) == (data, "it is a damaged package")
    else:
        assert data[member.header_offset :][: member.compress_size] in fixed
        assert BREAKS["dash"][1].encode() in zipfile.ZipFile(BytesIO(fixed)).read("word/document.xml")


def test_fix_refuses_a_package_with_two_parts_of_one_name(tmp_path: Path) -> None:
    doubled = BytesIO(document("chapter.docx", BREAKS["dash"][0]))
    with zipfile.ZipFile(doubled, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("word/document.xml", archive.read("word/document.xml"))
    fixed, file = corrected(tmp_path, {"a.docx": doubled.getvalue()})["a.docx"]
    assert fixed == doubled.getvalue()
    assert file.problem == "it is a damaged package: word/document.xml: the last of this name was read"


def test_places_of_many_citations_are_found_in_linear_time() -> None:
    def find(count: int) -> None:
        citations = [f"ark:/99152/x{number:07}" for number in range(count)]
        source = Source("".join(f"<p title='a'>{each}</p>\n<!-- " for each in citations).encode(), "a.html")
        assert len(source.places(citations[0], is_text=True)) == 1
        for citation in citations[1:]:
            source.places(citation, is_text=True)

    assert growth(find, 150) <= LINEAR


BROKEN = "Voir ark:/12148/bpt6k10\n7371t (BnF).\n"
WHOLE = "Voir ark:/12148/bpt6k107371t (BnF).\n"


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")
    return subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_fix_apply_keeps_the_mode_leaves_backups_and_is_idempotent(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(BROKEN)
    letter.chmod(0o640)
    shown = run_command("fix", tmp_path)
    assert (shown.returncode, letter.read_text()) == (0, BROKEN)
    assert f"-{BROKEN.splitlines()[0]}\n" in shown.stdout
    done = run_command("fix", tmp_path, letter, "--apply")
    assert done.returncode == 0, done.stderr
    assert "1 citation corrected in 1 file" in done.stderr
    backup = tmp_path / "letter.txt.before-fix"
    assert (letter.read_text(), backup.read_text()) == (WHOLE, BROKEN)
    assert letter.stat().st_mode & 0o777 == 0o640
    again = run_command("fix", tmp_path, letter, "--apply")
    assert (again.returncode, sorted(path.name for path in tmp_path.iterdir())) == (0, [letter.name, backup.name])
    letter.write_text(BROKEN)
    assert run_command("fix", letter, "--apply").returncode == 0
    assert backup.read_text() == (tmp_path / "letter.txt.2.before-fix").read_text() == BROKEN


def test_kill_at_any_moment_leaves_each_file_old_or_new(tmp_path: Path) -> None:
    [(_, file)] = corrected(tmp_path, {"letter.txt": BROKEN.encode()}).values()
    states: list[dict[str, str]] = []

    def record(*_: object) -> Any:
        # A kill before this line of code would leave these files, and perhaps a part (a hidden file).
        states.append({path.name: path.read_text() for path in tmp_path.iterdir() if path.suffix != ".part"})
        return record

    outer = sys.gettrace()
    sys.settrace(record)
    try:
        backup = write_corrected(file, with_backup=True)
    finally:
        sys.settrace(outer)
    assert backup is not None
    kept = {backup.name: BROKEN}
    expected = [{"letter.txt": BROKEN}, {"letter.txt": BROKEN} | kept, {"letter.txt": WHOLE} | kept]
    assert [state for state, _ in groupby(states)] == expected


def test_fix_patch_is_for_git_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "a letter.txt": BROKEN.encode(),
        "sub/crlf.txt": BROKEN.replace("\n", "\r\n").encode(),
        "sub/latin.tex": ("D\xe9j\xe0 vu\n" * 9 + BROKEN + "Fin\n" * 9 + BROKEN.strip()).encode("cp1252"),
    }
    chapter = Path("sub/c.docx")
    for folder in (Path("applied"), Path()):
        (folder / "sub").mkdir(parents=True)
        for name, data in texts.items():
            (folder / name).write_bytes(data)
    assert run_command("fix", "applied", "--apply", "--no-backup").returncode == 0
    chapter.write_bytes(document("chapter.docx", BREAKS["dash"][0]))
    git(tmp_path, "init", "--quiet")
    done = run_command("fix", *texts, chapter, "--patch", "fix.patch")
    assert done.returncode == 0, done.stderr
    assert "sub/c.docx: body: " in done.stdout
    assert "4 citations corrected by fix.patch in 3 files; 1 citation is not in the patch" in done.stderr
    assert "next: git apply fix.patch" in done.stderr
    git(tmp_path, "apply", "fix.patch")
    for name in texts:
        assert Path(name).read_bytes() == Path("applied", name).read_bytes() != texts[name]
    assert sorted(path.name for path in Path("applied").rglob("*.*")) == sorted(Path(name).name for name in texts)


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
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".before-fix") and "good" not in path.name]
    with read_only(tmp_path):
        (again,) = {run_command("fix", tmp_path / "target.txt", "--apply").returncode}
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--apply", "--patch", "x"], "give either --apply or --patch"),
        (["--force"], "--force and --no-backup are for --apply"),
        (["--only", "moved"], "--only moved needs --store, because it rests on checks"),
        (["--patch", "none/x.patch"], "none/x.patch can't be written: No such file or directory"),
        (["--store", "none.db"], "none.db"),
        (["https://n2t.net/"], "only files can be corrected, not https://n2t.net/"),
    ],
)
def test_fix_explains_mistakes_in_one_line(options: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text(BROKEN)
    done = run_command("fix", tmp_path / "letter.txt", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


# With a store.

MOVED, DEAD, SHORT_DEAD, PLAIN, TYPED, OLD_FORM, LOST = (f"ark:/12148/btv1b8449{number}" for number in range(100, 107))
COPY = "https://archive.example/2020/http://lost.example/view/106"


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a check of one ARK of each kind, and two earlier checks of one whose resolver is dead."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    resolvers = {MOVED: "old", DEAD: "dead", SHORT_DEAD: "dead", PLAIN: "plain", TYPED: "museum", OLD_FORM: "classic"}
    resolvers[LOST] = "lost"
    urls = {ark: f"http://{host}.example/{ark}" for ark, host in resolvers.items()}
    at_n2t = {ark: f"https://n2t.net/{ark}" for ark in (MOVED, DEAD, SHORT_DEAD)}
    numbers = {ark: number for number, ark in enumerate(urls, start=1)}
    observations = [
        observation_row(numbers[ark], url, "object", [hop(url, 404)])
        for ark, url in urls.items()
        if ark in (MOVED, TYPED, LOST)
    ]
    observations += [
        observation_row(numbers[ark], urls[ark], "object", [hop(urls[ark], None, error="no address")], chain_end="dns")
        for ark in (DEAD, SHORT_DEAD)
    ]
    observations += [observation_row(numbers[ark], urls[ark], "at global", [hop(url)]) for ark, url in at_n2t.items()]
    urls[OLD_FORM] = urls[OLD_FORM].replace("ark:/", "ark:")
    slashed = observation_row(
        numbers[OLD_FORM], urls[OLD_FORM], "other label form", [hop(f"http://classic.example/{OLD_FORM}")]
    )
    observations.append(slashed)
    secure = urls[PLAIN].replace("http:", "https:")
    observations.append(observation_row(numbers[PLAIN], urls[PLAIN], "object", [hop(urls[PLAIN], 301), hop(secure)]))
    elsewhere = {"object": "works-elsewhere", "remarks": ["the resolver as written fails; the global resolver works"]}
    outcomes: dict[str, dict[str, Any]] = {
        **dict.fromkeys(at_n2t, elsewhere),
        PLAIN: {"object": "resolved"},
        TYPED: {
            "object": "broken",
            "did_you_mean": {"ark": "ark:12148/btv1b8449194", "url": "http://museum.example/ark:/12148/btv1b8449194"},
        },
        OLD_FORM: {"object": "resolved", "remarks": ["the resolver knows only the other form of the label"]},
    }
    verdicts = [{"ark_id": numbers[ark], "request_url": urls[ark], **row} for ark, row in outcomes.items()]
    inner = f"https://archive.example/2020/{urls[LOST]}"
    gone = {"ark_id": numbers[LOST], "request_url": urls[LOST], "object": "broken"}
    verdicts += [gone, {**gone, "request_url": inner, "object": "resolved"}]
    observations.append(observation_row(numbers[LOST], inner, "object", [hop(inner)]))
    verdicts += [
        {**row, "run_id": run, "verdict_id": (90 if row is gone else 80) + run}
        for run in (4, 5)
        for row in (verdicts[1], gone)
    ]
    copy = {"ark_id": numbers[LOST], "request_url": urls[LOST], "memento_url": COPY, "outcome": "captured"}
    copy |= {"run_id": 2, "timegate": "https://archive.example/", "reason": "", "evidence": [], "hops": [hop(COPY)]}
    copy |= {"at": "2026-11-01T00:00:00.000+00:00", "memento_at": "2020-05-04T00:00:00.000+00:00"}
    runs = [
        {"run_id": run, "started_at": (at - timedelta(days=days)).isoformat("T", "milliseconds")}
        for run, days in ((2, 0), (4, 8), (5, 4))
    ]
    path = write_store(
        tmp_path_factory.mktemp("checked") / "audit.db",
        {
            schema.run: runs,
            schema.ark: [ark_row(number, ark) for ark, number in numbers.items()],
            schema.document: [
                {"document_id": 1, "url": "known.txt", "hops": [], "body_sha256": hashlib.sha256(b"before").hexdigest()}
            ],
            schema.mention: [mention_row(1, number, number, urls[ark]) for ark, number in numbers.items()],
            schema.observation: observations,
            schema.verdict: verdicts,
            schema.memento: [copy],
        },
    )
    with Store.open(path) as store, store.transaction() as connection:
        rebuild(connection)
    return path


def test_fix_cites_archived_copies_if_asked(checked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"http://lost.example/{LOST}"
    texts = {
        "a.html": f"<p><a class=x href='{url}'>{url}</a>, {url}.",
        "a.md": f"see {url}.\n",
        "b.md": f"see [x]({url}).\n",
        "a.txt": f"see {url},\n{url}",
        "a.csv": f"x,y\n{url},1\n",
        "a.tex": f"\\documentclass{{a}}\\url{{{url}}}",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    assert run_command("fix", *texts, "--store", checked).stdout == ""
    for _ in range(2):
        done = run_command("fix", *texts, "--store", checked, "--only", "archived", "--apply", "--no-backup")
        assert done.returncode == 0, done.stderr
        robust = f'data-originalurl=\'{url}\' data-versionurl="{COPY}" data-versiondate="2020-05-04"'
        noted = f"{url} (archived at {COPY})"
        assert {name: Path(name).read_text() for name in texts} == texts | {
            "a.html": f"<p><a {robust} class=x href='{url}'>{url}</a>, {noted}.",
            "a.md": f"see {noted}.\n",
            "a.txt": f"see {noted},\n{noted}",
        }, done.stdout
        refused = [line for line in done.stdout.splitlines() if "an archived copy can't be cited at this place" in line]
        assert sorted(line.partition(": http")[0] for line in refused) == ["a.tex: \\url", "b.md: a/@href"]


def test_fix_with_a_store(checked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path("page.html")
    cited = {MOVED: "old", DEAD: "dead", SHORT_DEAD: "dead", PLAIN: "plain", TYPED: "museum"}
    lines = [
        f"<p><a href='http://{host}.example/{ark}'>http://{host}.example/{ark}</a>\n" for ark, host in cited.items()
    ]
    in_query = f"<a href='https://p.example/?u=http%3A%2F%2Fold.example%2F{quote(MOVED, safe='')}'>x</a>"
    page.write_text("".join(lines) + in_query)
    done = run_command("fix", page, "--store", checked, "--apply")
    assert done.returncode == 0, done.stderr
    expected = {
        MOVED: f"https://n2t.net/{MOVED}",
        DEAD: f"https://n2t.net/{DEAD}",
        SHORT_DEAD: f"http://dead.example/{SHORT_DEAD}",
        PLAIN: f"https://plain.example/{PLAIN}",
        TYPED: "http://museum.example/ark:/12148/btv1b8449194",
    }
    links = "".join(f"<p><a href='{url}'>{url}</a>\n" for url in expected.values())
    assert page.read_text() == links + in_query, done.stdout
    assert "2 more are only likely" in done.stderr
    again = run_command("fix", page, "--store", checked, "--apply")
    assert (again.returncode, page.read_text()) == (0, links + in_query)


def test_fix_leaves_a_file_alone_that_the_store_does_not_know_as_it_is(
    checked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("known.txt").write_text(f"now http://old.example/{MOVED} here\n")
    Path("other.txt").write_text("ark:/12148/bpt6k10\n7371t here\n")
    done = run_command("fix", "known.txt", "other.txt", "--store", checked, "--apply")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "known.txt: not corrected: it has changed since it was checked; run arkaudit run on it again\n" in done.stderr
    )
    assert (
        f"other.txt: not corrected: {checked} has no check of its ARKs; run arkaudit run on it first\n" in done.stderr
    )


def test_fix_label_is_optional_and_asks_for_evidence_about_the_resolver(
    checked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(f"{MOVED} and http://classic.example/{OLD_FORM} and http://plain.example/{PLAIN} here\n")
    assert run_command("fix", "a.txt").stdout == ""
    assert run_command("fix", "a.txt", "--only", "label", "--likely", "--store", checked, "--apply").returncode == 0
    [line] = Path("a.txt").read_text().splitlines()
    new = MOVED.replace("ark:/", "ark:")
    plain = f"http://plain.example/{PLAIN.replace('ark:/', 'ark:')}"
    assert line == f"{new} and http://classic.example/{OLD_FORM} and {plain} here"


@pytest.mark.parametrize(("name", "form"), [("text.docx", "txt:Text"), ("inventory.xlsx", "html")])
def test_libreoffice_opens_a_corrected_document_if_it_is_installed(name: str, form: str, tmp_path: Path) -> None:
    source = (Path(__file__).parent / "fixtures" / "office" / name).read_bytes()
    fixed, file = corrected(tmp_path, {name: source}, likely=True)[name]
    assert len(file.corrections) > 3
    with zipfile.ZipFile(BytesIO(source)) as old, zipfile.ZipFile(BytesIO(fixed)) as new:
        assert old.namelist() == new.namelist()
        changed = {member for member in old.namelist() if old.read(member) != new.read(member)}
    assert changed == {edit.part for one in file.corrections for edit in one.edits}
    (tmp_path / name).write_bytes(fixed)
    if converted := convert(tmp_path / name, form, tmp_path / "converted"):
        assert file.corrections[0].correct in converted.read_text("utf-8")
