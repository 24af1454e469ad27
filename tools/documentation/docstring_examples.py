"""A Griffe extension that shows examples in docstrings as code blocks."""

from __future__ import annotations

from typing import Any

import griffe


def fence_examples(text: str) -> str:
    r"""Return a docstring with its examples in fenced blocks; Markdown would take ``>>>`` for a quotation.

    >>> fence_examples("Add.\n\n>>> 1 + 1\n2\n\nMore.")
    'Add.\n\n```python\n>>> 1 + 1\n2\n```\n\nMore.'
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        f"```python\n{each.rstrip()}\n```" if each.lstrip().startswith(">>> ") else each for each in paragraphs
    )


class DocstringExamples(griffe.Extension):
    """Fences the examples of each docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples in the docstring of *obj*."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)
