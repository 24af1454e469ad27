"""Views of readings, and properties of every reading of any bytes, which fuzz tests check."""

from itertools import pairwise

from hypothesis import strategies as st

from extractors.model.documents import Reading, Role


def kinds(reading: Reading) -> list[str]:
    """Return the kinds of the findings."""
    return [finding.kind for finding in reading.findings]


def texts(reading: Reading, role: Role = Role.TEXT) -> list[str]:
    """Return the texts of the blocks in one role."""
    return [block.text for block in reading.blocks if block.role is role]


def link_targets(reading: Reading) -> list[list[str]]:
    """Return each linked piece of text with the target of its link."""
    targets = {block.link: block.text for block in reading.blocks if block.link is not None}
    return [[block.text[a.start : a.end], targets[a.link]] for block in reading.blocks for a in block.anchors]


def damage(data: st.DataObject, whole: bytes) -> bytes:
    """Return a beginning of *whole* with up to 20 changed bytes."""
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 20))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    return bytes(damaged[: data.draw(st.integers(0, len(damaged)))])


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
