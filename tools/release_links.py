"""Write the address of the repository into links of the README and into the project's URLs, for a release.

On PyPI relative links do not work. The address is only known in the build of a release, because a fork has another.

python tools/release_links.py https://github.com/OWNER/arkaudit v0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

_LINK = re.compile(r"(!?\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)")
_IMAGE = ("png", "svg", "jpg")


def linked_description(text: str, repository: str, tag: str) -> str:
    """Return Markdown with links to files replaced by URLs of *tag* in *repository* (raw files for pictures).

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
    """Return the table ``project.urls`` for pyproject.toml.

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
    """Rewrite README.md and pyproject.toml of this checkout."""
    repository, tag = sys.argv[1:]
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    readme.write_text(linked_description(readme.read_text("utf-8"), repository, tag), "utf-8")
    text = project.read_text("utf-8")
    project.write_text(
        text.replace("[project.scripts]", f"{project_urls(repository, tag)}\n[project.scripts]"), "utf-8"
    )


if __name__ == "__main__":
    main()
