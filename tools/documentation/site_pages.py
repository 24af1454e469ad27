"""An MkDocs hook that adds pages from files outside `docs/`: the README as start page, changes, architecture …

Links between these files are converted to links between pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]

#: Pages, and their files in the repository.
PAGES: Final = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "corpus.md": "tools/corpus/README.md",
}
_COMMANDS: Final = """# Commands

Made from the commands themselves; `arkaudit COMMAND --help` says the same.

::: mkdocs-click
    :module: tools.documentation.documented_commands
    :command: cli
    :prog_name: arkaudit
    :depth: 1
    :style: plain
    :list_subcommands: True
"""
#: The target of links to the folder of decisions, for which the site has no page.
_FIRST_DECISION: Final = "adr/0001-exact-request-targets.md"
_LINK: Final = re.compile(r"(\]\(|^\[[^\]]+\]: )([^)#\s]+)(#[^)\s]*)?", re.MULTILINE)


def link_pages(text: str, source: str) -> str:
    """Return the Markdown of the file *source* with links to files replaced by links to pages.

    >>> link_pages("[more](docs/verdicts.md#rules), [all](LICENSE), [out](https://example.org/)", "README.md")
    '[more](verdicts.md#rules), [all](LICENSE), [out](https://example.org/)'
    >>> link_pages("[what it is](../CHANGELOG.md)", "docs/api.md")
    '[what it is](changelog.md)'
    """
    folder = Path(source).parent
    pages = {path: page for page, path in PAGES.items()} | {"docs/adr": _FIRST_DECISION}

    def to_page(link: re.Match[str]) -> str:
        before, target, anchor = link[1], link[2], link[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        parts: list[str] = []
        for part in (folder / target).parts:
            if part == "..":
                parts.pop()
            else:
                parts.append(part)
        path = "/".join(parts)
        if path in pages:
            return f"{before}{pages[path]}{anchor}"
        return f"{before}{path.removeprefix('docs/')}{anchor}" if source in PAGES.values() else link[0]

    return _LINK.sub(to_page, text)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages, for MkDocs."""
    from mkdocs.structure.files import File

    from tools.documentation.documented_commands import as_code, reshape

    reshape(as_code)
    for page, source in PAGES.items():
        text = link_pages((ROOT / source).read_text(encoding="utf-8"), source)
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "commands.md", content=_COMMANDS))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert links of a page to files outside its folder, for MkDocs."""
    source = page.file.src_uri
    return markdown if source in PAGES or "/" in source else link_pages(markdown, f"docs/{source}")
