"""Properties of every reading of any bytes, which fuzz tests check in addition to exceptions."""

from __future__ import annotations

from itertools import pairwise

from extractors.model.documents import Reading


def assert_sound(reading: Reading) -> None:
    """Assert that all of *reading* can be stored, and that its places lie within its texts."""
    assert reading.media_type or reading.findings
    for text in (reading.title, *reading.links, *reading.documents, *reading.parts, *reading.unfollowed):
        text.encode()
    assert len(set(reading.links)) == len(reading.links)
    numbers = {block.link for block in reading.blocks if block.link is not None}
    for block in reading.blocks:
        block.place.encode()
        block.text.encode()
        assert block.page is None or block.page >= 1
        assert {anchor.link for anchor in block.anchors} <= numbers
        assert all(0 <= anchor.start < anchor.end <= len(block.text) for anchor in block.anchors)
        assert all(one.end <= other.start for one, other in pairwise(block.anchors))
        for offsets in ([at for at, _ in block.line_slack], block.seams, block.page_breaks):
            assert list(offsets) == sorted(offsets)
            assert all(0 <= at <= len(block.text) for at in offsets)
    for finding in reading.findings:
        assert finding.kind == finding.kind.strip().lower() != ""
        finding.detail.encode()
