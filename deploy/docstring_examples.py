"""Examples of docstrings as blocks of code on the page about the library: an extension of Griffe."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    r"""Return a docstring whose examples stand between fences; Markdown would take ``>>>`` for a quotation.

    >>> fenced("Add.\n\n>>> 1 + 1\n2\n\nMore.")
    'Add.\n\n```python\n>>> 1 + 1\n2\n```\n\nMore.'
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        f"```python\n{each.rstrip()}\n```" if each.lstrip().startswith(">>> ") else each for each in paragraphs
    )


class DocstringExamples(griffe.Extension):
    """Puts the examples of each docstring between fences."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of *obj*, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
