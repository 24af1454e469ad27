"""An ARK goes in, observations and a verdict come out. The only package that touches the network.

    >>> from crawler import request_url
    >>> request_url("ark:/12148/btv1b8449691v", None, "https://n2t.net/")
    'https://n2t.net/ark:/12148/btv1b8449691v'

Each name is imported when it is first used.

- `Verdict`, `ServiceVerdict`: the verdict with the sentences that support it, and the requests for it.
- `ObjectOutcome`, `MetadataOutcome`, `CommitmentOutcome`, `DocumentOutcome`: the words of verdicts; `Family`, in which
  those on objects are counted.
- `Observation`, `Hop`, `Question`, `ChainEnd`: a question that was asked, and what came back on each hop.
- `request_url(written, resolver, global_resolver)`: the URL that asks for an ARK; `arkaudit.check` asks and judges.
- `Ark`: as in `extractors`. `ArkauditError` is the base of all errors; `StoreError` that of those about a store.

The Scrapy project (spiders, pipelines, settings) is in the modules of this package: ``docs/scrapy.md``.
What is not in `__all__` is private, and may change.
"""

from extractors.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
