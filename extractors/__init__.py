"""Find ARKs in documents. No network, no database.

    >>> from extractors import Ark, extract, find_arks
    >>> [mention] = find_arks("The scan (see ark:/12148/bpt6k10\\n7371t).")
    >>> mention.ark == Ark.parse("https://n2t.net/ark:/12148/bpt6k107371t"), mention.repairs
    (True, ('line wrap',))

Each name is imported when it is first used.

- `find_arks(text)`: all ARKs in running text, with the damage of typesetting repaired.
- `extract(source)`: the documents in a file, folder, archive or bytes, of any format, with their mentions and findings.
- `Ark`: one ARK in normal form; `Ark.parse(text)` reads any spelling of it, and equal ARKs are equal values.
- `Mention`, `NamespaceMention`, `Document`, `Finding`, `Role`, `Confidence`, `CheckCharacter`, `Remark`: the types of
  the results.
- `Registry`: data about NAANs and shoulders; `Registry.builtin()` is the copy in this package.
- `ArkauditError` is the base of all errors; here `NotAnArk`, its `NamespaceOnly`, and `SourceUnreadable`.

Names that are not in `__all__` are private and may change.
"""

from extractors.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
