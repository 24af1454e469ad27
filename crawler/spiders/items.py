"""The items of a spider for feeds, pipelines and signals: flat, so that they fit into a row of a CSV file.

>>> from itemadapter import ItemAdapter
>>> item = Citation("https://www.example.org/", "ark:12148/btv1b8449691v", "ark:/12148/btv1b8449691v", "https://n2t.net/")
>>> ItemAdapter(item)["ark"]
'ark:12148/btv1b8449691v'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crawler.model.observations import DocumentRecord, Verdict


@dataclass(frozen=True, slots=True)
class Citation:
    """A mention of an ARK in a document."""

    document: str
    """URL or path of the document or the archive member."""
    ark: str
    """In normal form."""
    as_written: str
    request_url: str
    """The URL that requests the object."""
    page: int | None = None
    place: str = ""
    """The position on the page, in terms of the format: a heading, a cell, a note."""
    role: str = ""
    """The kind of text with the mention: running text, the target of a link, …"""
    context: str = ""
    """The text around the mention."""
    confidence: str = ""
    """``certain``, ``likely`` or ``ambiguous``."""
    reason: str = ""
    """The rule of the least certain decision about the mention."""
    repairs: Sequence[str] = field(default_factory=list)
    alternatives: Sequence[str] = field(default_factory=list)
    """Normal forms of other ARKs that the mention may mean."""
    remarks: Sequence[str] = field(default_factory=list)
    """Deviations of the spelling from the specifications."""


@dataclass(frozen=True, slots=True)
class CheckedArk:
    """The verdict on the three services of an ARK at a URL."""

    ark: str
    """In normal form."""
    request_url: str
    object: str
    """A token of `crawler.model.observations.ObjectOutcome`."""
    object_evidence: Sequence[str]
    metadata: str
    """A token of `crawler.model.observations.MetadataOutcome`."""
    metadata_evidence: Sequence[str]
    commitment: str
    """A token of `crawler.model.observations.CommitmentOutcome`."""
    commitment_evidence: Sequence[str]
    final_url: str | None
    """The URL at the end of the redirects."""
    requests: int
    remarks: Sequence[str]
    did_you_mean: str | None
    """The ARK that was probably meant, and works."""


def citations(record: DocumentRecord) -> Iterator[Citation]:
    """Yield the citations of a document as items, in order."""
    for cited_mention in record.mentions:
        mention = cited_mention.mention
        yield Citation(
            document=record.url,
            ark=str(mention.ark),
            as_written=mention.as_written,
            request_url=cited_mention.request_url,
            page=mention.page,
            place=mention.place,
            role=mention.role.value,
            context=mention.context,
            confidence=mention.confidence.token,
            reason=mention.reason,
            repairs=list(mention.repairs),
            alternatives=list(mention.alternatives),
            remarks=[remark.value for remark in mention.remarks],
        )


def checked_ark(verdict: Verdict) -> CheckedArk:
    """Return a verdict as an item."""
    return CheckedArk(
        ark=str(verdict.ark),
        request_url=verdict.request_url,
        object=verdict.object.outcome.value,
        object_evidence=list(verdict.object.evidence),
        metadata=verdict.metadata.outcome.value,
        metadata_evidence=list(verdict.metadata.evidence),
        commitment=verdict.commitment.outcome.value,
        commitment_evidence=list(verdict.commitment.evidence),
        final_url=verdict.final_url,
        requests=verdict.requests,
        remarks=list(verdict.remarks),
        did_you_mean=str(verdict.did_you_mean.ark) if verdict.did_you_mean else None,
    )
