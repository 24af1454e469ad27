"""Documents go in, mentions of ARKs come out. No network, no database.

    >>> from extractors import Ark, extract, find_arks
    >>> [mention] = find_arks("The scan (see ark:/12148/bpt6k10\\n7371t).")
    >>> mention.ark == Ark.parse("https://n2t.net/ark:/12148/bpt6k107371t"), mention.repairs
    (True, ('line wrap',))

Each name is imported when it is first used.

- `find_arks(text)`: all ARKs in running text, whole again where typesetting broke them.
- `extract(source)`: the documents in a file, folder, archive or bytes, of any format, with their mentions and findings.
- `Ark`: one ARK in normal form; `Ark.parse(text)` reads any spelling of it, and equal ARKs are equal values.
- `Mention`, `NamespaceMention`, `Document`, `Finding`, `Role`, `Confidence`, `CheckCharacter`, `Remark`: what these
  hold.
- `Registry`: what is known of NAANs and shoulders; `Registry.builtin()` is what comes with this program.
- `ArkauditError` is the base of all errors; here `NotAnArk`, its `NamespaceOnly`, and `SourceUnreadable`.

What is not in `__all__` is private, and may change.
"""

from typing import TYPE_CHECKING

from extractors.lazy import lazy_names

if TYPE_CHECKING:
    from extractors.ark import Ark
    from extractors.checkchar import CheckCharacter
    from extractors.conformance import Remark
    from extractors.document_model import Finding, Role
    from extractors.documents import Document, extract
    from extractors.find import find_arks
    from extractors.mentions.mention import Mention, NamespaceMention
    from extractors.naan import Registry
    from extractors.normalize import NamespaceOnly, NotAnArk
    from extractors.shared_errors import ArkauditError, SourceUnreadable
    from extractors.wraps.wrap import Confidence

__all__ = [
    "Ark",
    "ArkauditError",
    "CheckCharacter",
    "Confidence",
    "Document",
    "Finding",
    "Mention",
    "NamespaceMention",
    "NamespaceOnly",
    "NotAnArk",
    "Registry",
    "Remark",
    "Role",
    "SourceUnreadable",
    "extract",
    "find_arks",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Ark": "extractors.ark",
        "ArkauditError": "extractors.shared_errors",
        "CheckCharacter": "extractors.checkchar",
        "Confidence": "extractors.wraps.wrap",
        "Document": "extractors.documents",
        "Finding": "extractors.document_model",
        "Mention": "extractors.mentions.mention",
        "NamespaceMention": "extractors.mentions.mention",
        "NamespaceOnly": "extractors.normalize",
        "NotAnArk": "extractors.normalize",
        "Registry": "extractors.naan",
        "Remark": "extractors.conformance",
        "Role": "extractors.document_model",
        "SourceUnreadable": "extractors.shared_errors",
        "extract": "extractors.documents",
        "find_arks": "extractors.find",
    },
)
