"""Give what is published the address of the repository that publishes it: links of the README, and the project's URLs.

On PyPI a link to `docs/usage.md` leads nowhere. The address is known where a release is built, and nowhere else: a fork
publishes its own.

python deploy/release_links.py https://github.com/OWNER/arkaudit v0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

_LINK = re.compile(r"(!?\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)")
_IMAGE = ("png", "svg", "jpg")


def linked_description(text: str, repository: str, tag: str) -> str:
    """Return Markdown whose links to files lead to those of *tag* in *repository*, pictures to the files themselves.

    >>> linked_description("[all](LICENSE), [out](https://a.example/)", "https://github.com/o/a", "v1")
    '[all](https://github.com/o/a/blob/v1/LICENSE), [out](https://a.example/)'
    >>> linked_description("![it](docs/images/report.png)", "https://github.com/o/a", "v1")
    '![it](https://github.com/o/a/raw/v1/docs/images/report.png)'
    """

    def absolute(link: re.Match[str]) -> str:
        view = "raw" if link[2].rpartition(".")[2] in _IMAGE else "blob"
        return f"{link[1]}{repository}/{view}/{tag}/{link[2]}"

    return _LINK.sub(absolute, text)


def project_urls(repository: str, tag: str) -> str:
    """Return the table of pyproject.toml with the addresses of the project.

    >>> print(project_urls("https://github.com/o/a", "v1").splitlines()[1])
    Source = "https://github.com/o/a"
    """
    return "\n".join(
        (
            "[project.urls]",
            f'Source = "{repository}"',
            f'Documentation = "{repository}/tree/{tag}/docs"',
            f'Changelog = "{repository}/blob/{tag}/CHANGELOG.md"',
            f'Issues = "{repository}/issues"',
            "",
        )
    )


def main() -> None:
    """Rewrite README.md and pyproject.toml of the checkout that is built."""
    repository, tag = sys.argv[1:]
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    readme.write_text(linked_description(readme.read_text("utf-8"), repository, tag), "utf-8")
    text = project.read_text("utf-8")
    project.write_text(
        text.replace("[project.scripts]", f"{project_urls(repository, tag)}\n[project.scripts]"), "utf-8"
    )


if __name__ == "__main__":
    main()
