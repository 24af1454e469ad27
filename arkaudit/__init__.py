"""Find ARKs in documents, repair and resolve them, and report which of them persist.

    >>> from arkaudit import Ark, extract, find_arks
    >>> [mention] = find_arks("see ark:/12148/bpt6k10\\n7371t")
    >>> mention
    <Mention ark:12148/bpt6k107371t, certain: line wrap>

Each name is imported at its first use, so `find_arks` imports neither Scrapy nor pandas.

- `find_arks(text)` finds all ARKs in running text.
- `extract(source)` reads files, folders, archives or bytes and yields documents with the ARKs that they cite.
- `check(ark)` resolves an ARK and judges its object, metadata and commitment.
- `load_report(store)` returns the frames and tables of an audit.
- `Ark`, `Mention`, `Document`, `Verdict` and `Frames` are their values.
- `ArkauditError` is the base class of all errors; `arkaudit.errors` shows the tree.

`extractors`, `crawler` and `reports` have these names and more. Names outside `__all__` are private.
"""

from arkaudit.own_packages import import_own_packages

__version__ = "0.1.0"

import_own_packages()

# Only now: `import_own_packages` made sure that `extractors` is this project's package.
from extractors.lazy import lazy_names  # noqa: E402

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
