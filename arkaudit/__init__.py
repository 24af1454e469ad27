"""Find ARKs in documents, repair them, resolve them, and report which persist: a command, and a library.

    >>> from arkaudit import Ark, extract, find_arks
    >>> [mention] = find_arks("see ark:/12148/bpt6k10\\n7371t")
    >>> mention
    <Mention ark:12148/bpt6k107371t, certain: line wrap>

Each name is imported when it is first used: `find_arks` brings neither Scrapy nor pandas along.

- `find_arks(text)`: all ARKs in running text.
- `extract(source)`: the documents in files, folders, archives or bytes, with what they cite.
- `check(ark)`: the verdict on the object, its metadata and its commitment.
- `load_report(store)`: the frames and tables of an audit.
- `Ark`, `Mention`, `Document`, `Verdict`, `Frames`: their values.
- `ArkauditError`: the base of all errors; `arkaudit.errors` draws their tree.

The same names, and more, are in `extractors`, `crawler` and `reports`. What is not in `__all__` is private.
"""

from arkaudit.own_packages import import_own_packages

__version__ = "0.1.0"

import_own_packages()

from extractors.lazy import lazy_names  # noqa: E402 (of our packages, whatever else has their names)

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
