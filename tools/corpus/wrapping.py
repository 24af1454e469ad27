"""Line breaks as mail programs, editors and typesetters make them: GNU tools, and imitations of others."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from random import Random

_WORD_JOINT = re.compile(r"(?<=[a-zà-ÿ][a-zà-ÿ])(?=[bcdfghjklmnpqrstvwxz][aeiouy][a-zà-ÿ])")
_URL_JOINT = re.compile(r"(?<=[/.?=&])(?=[^/.?=&])")
_LABEL_IN = re.compile(r"ark:|://", re.IGNORECASE)

Wrapper = Callable[[str, int, Random], bytes]


class ToolMissing(Exception):
    """Raised if a command that breaks lines isn't installed."""


def _pipe(command: list[str], text: str) -> bytes:
    path = shutil.which(command[0])
    if path is None:
        raise ToolMissing(f"{command[0]} isn't installed")
    return subprocess.run([path, *command[1:]], input=text.encode(), capture_output=True, check=True).stdout


def fold(text: str, width: int, _: Random) -> bytes:
    """Break at every *width*th byte, even within a character, by GNU fold."""
    return _pipe(["fold", f"-w{width}"], text)


def fold_s(text: str, width: int, _: Random) -> bytes:
    """Break at spaces if possible, by GNU fold -s."""
    return _pipe(["fold", "-s", f"-w{width}"], text)


def fmt(text: str, width: int, _: Random) -> bytes:
    """Break at spaces only, so that long tokens exceed the width, by GNU fmt."""
    return _pipe(["fmt", f"-w{width}"], text)


def nroff(text: str, width: int, _: Random) -> bytes:
    """Justify and hyphenate by GNU nroff; `\\:` lets a URL break without a hyphen."""
    lines = []
    for line in text.splitlines():
        tokens = [_for_nroff(token) for token in line.split(" ")]
        joined = re.sub(
            r"[^\x00-\x7f]", lambda char: f"\\[u{ord(char[0]):04X}]", " ".join(tokens).replace("'", "\\(cq")
        )
        lines.append(f"\\&{joined}" if joined else "")
    source = f".pl 100000\n.ll {width}n\n.ad b\n.hy\n" + "\n".join(lines)
    printed = _pipe(["nroff", "-Tutf8", "-c"], source).decode()
    return re.sub(r"\x1b\[[\d;]*m|.\x08", "", printed).strip("\n").encode() + b"\n"


def python(text: str, width: int, _: Random) -> bytes:
    """Break long words anywhere and others after hyphens, by Python's textwrap."""
    return _each_line(text, lambda line: textwrap.wrap(line, width))


def python_whole(text: str, width: int, _: Random) -> bytes:
    """Break at spaces only, by Python's textwrap."""
    return _each_line(text, lambda line: textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False))


def at_url_joints(text: str, width: int, _: Random) -> bytes:
    """Break URLs only after ``/ . ? = &``, like typesetters."""
    return _each_line(text, lambda line: _fill(line, width, lambda token: _URL_JOINT.split(token), ""))


def anywhere(text: str, width: int, _: Random) -> bytes:
    """Break URLs and ARKs anywhere but not words, like ``overflow-wrap: anywhere`` and xurl."""
    return _each_line(text, lambda line: _fill(line, width, list, ""))


def hyphenate(mark: str) -> Wrapper:
    """Return a wrapper that breaks words, URLs and ARKs with a hyphenation *mark*."""

    def wrap(text: str, width: int, _: Random) -> bytes:
        return _each_line(text, lambda line: _fill(line, width, _hyphenation_parts, mark))

    return wrap


def quote_mail(text: str, width: int, random: Random) -> bytes:
    """Put ``> `` or ``>> `` before each wrapped line, like mail programs."""
    return _prefix(anywhere(text, width - 2, random), lambda: "> " if random.random() < 0.7 else ">> ")


def indent(text: str, width: int, random: Random) -> bytes:
    """Indent wrapped paragraphs."""
    return _prefix(anywhere(text, width - 6, random), lambda: " " * random.choice((4, 6, 8)))


def number_items(text: str, width: int, random: Random) -> bytes:
    """Make a numbered list with hanging lines."""
    paragraphs = [each for each in text.split("\n") if each]
    items = []
    for number, paragraph in enumerate(paragraphs, start=1):
        mark = f"{number}. ".ljust(4)
        broken = anywhere(paragraph, width - 4, random).decode().rstrip("\n").splitlines()
        items.append("\n".join((mark if index == 0 else "    ") + line for index, line in enumerate(broken)))
    return ("\n".join(items) + "\n").encode()


def paginate(text: str, width: int, random: Random) -> bytes:
    """Insert a form feed, a running head and a page number every 24 lines, like the text of a PDF."""
    lines = anywhere(text, width, random).decode().splitlines()
    pages = [lines[start : start + 24] for start in range(0, len(lines), 24)]
    head = random.choice(("Collections and Catalogues", "Annales du port", "Mitteilungen", "Boletín"))
    return "".join(
        (f"\f{head}\n\n" if number else "") + "\n".join(page) + f"\n\n{number + 1}\n"
        for number, page in enumerate(pages)
    ).encode()


WRAPPERS: dict[str, Wrapper] = {
    "fold": fold,
    "fold-s": fold_s,
    "fmt": fmt,
    "nroff": nroff,
    "textwrap": python,
    "textwrap-whole": python_whole,
    "url-joints": at_url_joints,
    "anywhere": anywhere,
    "hyphen": hyphenate("-"),
    "hyphen-2010": hyphenate("\N{HYPHEN}"),
    "soft-hyphen": hyphenate("\N{SOFT HYPHEN}"),
    "quoted": quote_mail,
    "indented": indent,
    "numbered": number_items,
    "paged": paginate,
}


def _for_nroff(token: str) -> str:
    return re.sub(r"(?<=[/.?=&])", r"\\:", token).replace("-", r"\-") if is_ark(token) else token


def is_ark(token: str) -> bool:
    """Return True if a token holds an ARK or a URL."""
    return bool(_LABEL_IN.search(token))


def _each_line(text: str, wrap: Callable[[str], list[str]]) -> bytes:
    return ("\n".join("\n".join(wrap(line)) for line in text.splitlines()) + "\n").encode()


def _hyphenation_parts(token: str) -> list[str]:
    if not is_ark(token):
        return _WORD_JOINT.split(token)
    return re.split(r"(?<=[^\W_])(?=[^\W_])|(?<=[/.])(?=\w)", token)


def _fill(line: str, width: int, parts_of: Callable[[str], list[str]], mark: str) -> list[str]:
    """Return *line* in lines of at most *width*; tokens with an ARK (with a *mark* all tokens) may break."""
    lines, current = [], ""
    for token in line.split(" "):
        parts = parts_of(token) if mark or is_ark(token) else [token]
        glue = " " if current else ""
        while parts:
            fitting = _how_many_fit(parts, width - len(current) - len(glue), mark)
            if fitting == 0 and current:
                lines.append(current)
                current, glue = "", ""
                continue
            piece = "".join(parts[: max(fitting, 1)])
            parts = parts[max(fitting, 1) :]
            current += glue + piece
            glue = ""
            if parts:
                lines.append(current + (mark if piece[-1:].isalnum() else ""))
                current = ""
    return [*lines, current]


def _how_many_fit(parts: list[str], room: int, mark: str) -> int:
    if len("".join(parts)) <= room:
        return len(parts)
    used = 0
    for count, part in enumerate(parts):
        used += len(part)
        if used + len(mark) > room:
            return count
    return len(parts)


def _prefix(wrapped: bytes, prefix: Callable[[], str]) -> bytes:
    paragraphs = wrapped.decode().split("\n\n")
    out = []
    for paragraph in paragraphs:
        start = prefix()
        out.append("\n".join(start + line for line in paragraph.rstrip("\n").split("\n")))
    gap = "\n>\n" if ">" in out[0][:3] else "\n\n"
    return (gap.join(out) + "\n").encode()
