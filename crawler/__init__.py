"""Sends requests for ARKs, and turns the observations into verdicts. The only package that uses the network.

    >>> from crawler import request_url
    >>> request_url("ark:/12148/btv1b8449691v", None, "https://n2t.net/")
    'https://n2t.net/ark:/12148/btv1b8449691v'

Each name is imported when it is first used.

- `Verdict`, `ServiceVerdict`: the verdict, with the sentences that support it and its requests.
- `ObjectOutcome`, `MetadataOutcome`, `CommitmentOutcome`, `DocumentOutcome`: the vocabularies of verdicts; `Family`
  groups the outcomes for objects.
- `Observation`, `Hop`, `Question`, `ChainEnd`: a question and the answer to it, hop by hop.
- `request_url(written, resolver, global_resolver)`: the URL that requests an ARK; `arkaudit.check` requests and judges.
- `Ark`: as in `extractors`. `ArkauditError` is the base of all errors, `StoreError` that of errors about a store.

The Scrapy project (spiders, settings) is in the modules of this package: ``docs/scrapy.md``.
Names outside `__all__` are private, and may change.
"""

from extractors.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
