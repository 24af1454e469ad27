"""Writes ``docs/conformance.md``: the requirements that `arkaudit conform` tests, as a list to read.

python -m deploy.conformance_page docs/conformance.md
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from crawler.conformance.conformance import Requirement, requirements

#: What real programs were found to do.
_PROGRAMS = Path(__file__).with_name("programs_tested.md")
_HEAD = """# What a resolver of ARKs is asked for

{count} requirements, in the order of [draft-kunze-ark-38](https://datatracker.ietf.org/doc/draft-kunze-ark/) (November
2023), and of HTTP where ARKs rest on it. A number such as 3.2/1 is the first requirement of section 3.2. MUST, SHOULD
and MAY are as in RFC 2119: a requirement that must be met **fails** where it is not, one that should be **warns**, and
one that may be left out does not count. Whoever writes a resolver can use the list without the program; with it:

```console
$ arkaudit conform https://ark.example.org/ --ark ark:98765/x1
$ arkaudit conform https://ark.example.org/ --ark ark:98765/x1 --gone ark:98765/x2 --only 5.1 --format html
$ arkaudit conform https://new.example.org/ --against https://old.example.org/ --from names.txt
```

For one ARK that is there it sends some thirty requests (`--dry-run` prints them), as politely as any other command; with
`--own`, for a resolver of your own, a hundred more at two a second. An answer that keeps programs out is no failure. Of a
resolver that answers nothing nothing can be told, and the exit code is 3. With `--store` every request and answer is
kept, and a test that was interrupted is resumed. `--format` is `text`, `json`, `junit` (for CI, with `--fail`), `md`,
`html` (a page that can be published, with the requests behind each row) or `badge`.

This page is made by `python -m deploy.conformance_page docs/conformance.md`.
"""


def page() -> str:
    """The whole page."""
    rows = requirements()
    parts = [_HEAD.format(count=len(rows))]
    for title, some in groupby(rows, key=lambda requirement: requirement.section):
        own = list(some)
        parts.append(f"\n## {own[0].number.partition('/')[0]} {title}\n")
        parts += map(_entry, own)
    return "".join([*parts, _PROGRAMS.read_text("utf-8")])


def _entry(row: Requirement) -> str:
    return f"\n**{row.number} {row.question}** {row.level}\n\n{row.failure}\n\n*To mend it:* {row.remedy}\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
