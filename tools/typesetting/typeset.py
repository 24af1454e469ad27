#!/usr/bin/env python3
"""Rebuild the PDFs of the demo's document site from their sources.

The site that the demo audits holds four PDFs, each made by a real typesetter, because
every typesetter breaks an ARK over two lines in its own way:

    flood-marks.tex        pdfLaTeX     breaks anywhere (xurl), or at \\- with a hyphen
    bulletin.tex           pdfLaTeX     babel-french: a thin space before each colon
    annual-report.fodt     LibreOffice  soft hyphens, made visible where a line ends
    exhibition-guide.html  Chromium     soft hyphens (U+2010), <wbr>, break-all

The PDFs are kept in the repository, so nobody needs this script to run the demo. Where
the lines break depends on the typesetter's version and on the fonts (Times as TeX ships
it, Latin Modern for the other two): after a rebuild, compare the text layers with
tests/vectors/demo_site.json, which says what was broken and how.

On Debian: apt-get install texlive-latex-extra texlive-fonts-recommended
texlive-lang-french fonts-lmodern libreoffice-writer chromium
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
SITE = HERE.parents[1] / "tools" / "demo" / "site"

#: Written into every PDF as its date (1 January 2026), unless SOURCE_DATE_EPOCH is set.
DEFAULT_EPOCH = 1767225600

#: Generous, for a first start of LibreOffice on a slow machine.
TIMEOUT_S = 180


class TypesettingError(Exception):
    """Raised here, and shown to the user as one line, when a PDF can't be made."""


class TypesetterMissing(TypesettingError):
    """Raised when a typesetter is needed of which no command is installed."""


class TypesetterFailed(TypesettingError):
    """Raised when a typesetter ran, but ended with an error, too late or without a PDF."""


def command_path(*names: str) -> str:
    """Return the path of the first of the commands *names* that is installed. Raises `TypesetterMissing`."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise TypesetterMissing(f"{' or '.join(names)}: not found; --help says what to install")


def run(command: list[str | Path], *, folder: Path, epoch: int) -> None:
    """Run a typesetter in *folder*, with its clock set to *epoch* as far as it obeys."""
    name = Path(command[0]).name
    clock = {"SOURCE_DATE_EPOCH": str(epoch), "FORCE_SOURCE_DATE": "1", "TZ": "UTC"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **clock},
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired:
        raise TypesetterFailed(f"{name}: no end after {TIMEOUT_S} s") from None
    if done.returncode:
        last_lines = done.stdout.decode(errors="replace").strip().splitlines()[-8:]
        raise TypesetterFailed("\n  ".join([f"{name}: exit status {done.returncode}", *last_lines]))


def pdflatex(source: Path, *, folder: Path, epoch: int) -> None:
    """Typeset a .tex file, twice: the second run knows the references of the first."""
    command = [command_path("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", source]
    for _ in range(2):
        run(command, folder=folder, epoch=epoch)


def libreoffice(source: Path, *, folder: Path, epoch: int) -> None:
    """Export an OpenDocument file, with a fresh profile so that no setting leaks in."""
    profile = (folder / "profile").as_uri()
    command = [
        command_path("soffice", "libreoffice"),
        f"-env:UserInstallation={profile}",
        "--headless",
        "--convert-to",
        "pdf",
        "--outdir",
        folder,
        source,
    ]
    run(command, folder=folder, epoch=epoch)


def chromium(source: Path, *, folder: Path, epoch: int) -> None:
    """Print an HTML file, with the network cut off; a sandbox, except for root, who has none."""
    command = [
        command_path("chromium", "chromium-browser", "google-chrome"),
        "--headless=new",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--disable-background-networking",
        f"--user-data-dir={folder / 'profile'}",
        "--no-pdf-header-footer",
        f"--print-to-pdf={folder / source.stem}.pdf",
        source.as_uri(),
    ]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    run(command, folder=folder, epoch=epoch)


Typesetter = Callable[..., None]
TYPESETTERS: dict[str, Typesetter] = {".tex": pdflatex, ".fodt": libreoffice, ".html": chromium}


def with_fixed_dates(pdf: bytes, *, epoch: int, source: bytes) -> bytes:
    """Return *pdf* with its dates set to *epoch*, and its file identifiers derived from *source*.

    LibreOffice and Chromium do not know SOURCE_DATE_EPOCH. Each replacement is as long as the old
    text, so that the offsets in the file's cross-references stay right.

    >>> with_fixed_dates(b"/ModDate (D:20261121033940+00'00')", epoch=0, source=b"")
    b"/ModDate (D:19700101000000+00'00')"
    """
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(epoch)).encode()
    file_id = hashlib.md5(source, usedforsecurity=False).hexdigest().upper().encode()
    pdf = re.sub(rb"(?<=Date)( ?\(D:)\d{14}", rb"\g<1>" + stamp, pdf)
    pdf = re.sub(rb"(/DocChecksum /)[0-9A-F]{32}", rb"\g<1>" + file_id, pdf)
    both_ids = rb"\g<1>" + file_id + rb"\g<2>" + file_id
    return re.sub(rb"(/ID \[ <)[0-9A-F]{32}(>\s+<)[0-9A-F]{32}", both_ids, pdf)


def pdf_of(source: Path, *, epoch: int) -> bytes:
    """Return the PDF that the typesetter for this kind of file makes of *source*. Raises `TypesettingError`."""
    with tempfile.TemporaryDirectory(prefix="typeset-") as name:
        folder = Path(name)
        TYPESETTERS[source.suffix](source, folder=folder, epoch=epoch)
        made = folder / f"{source.stem}.pdf"
        if not made.exists():
            raise TypesetterFailed(f"{source.name}: the typesetter ended without an error or a PDF")
        return with_fixed_dates(made.read_bytes(), epoch=epoch, source=source.read_bytes())


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Return the parsed arguments; sources are given by name, with or without the ending."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a source, such as bulletin or bulletin.tex (default: all)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=SITE,
        metavar="FOLDER",
        help="where to put the PDFs (default: the site in the package)",
    )
    return parser.parse_args(argv)


def sources_named(names: list[str]) -> list[Path]:
    """Return the sources with these *names*, or all sources if the list is empty. Raises `TypesettingError`."""
    known = sorted(path for path in SOURCES.iterdir() if path.suffix in TYPESETTERS)
    unknown = set(names) - {path.name for path in known} - {path.stem for path in known}
    if unknown:
        raise TypesettingError(
            f"no such source: {', '.join(sorted(unknown))}; there are {', '.join(path.name for path in known)}"
        )
    return [path for path in known if not names or {path.name, path.stem} & set(names)]


def main(argv: list[str] | None = None) -> int:
    """Typeset the requested sources; return 0, or 1 after a message if a source can't be typeset."""
    asked = arguments(argv)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", DEFAULT_EPOCH))
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        for source in sources_named(asked.names):
            pdf = pdf_of(source, epoch=epoch)
            (asked.out / f"{source.stem}.pdf").write_bytes(pdf)
            print(f"{source.name}: {source.stem}.pdf, {len(pdf):,} bytes")
    except TypesettingError as error:
        print(f"typeset: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
