"""The pace of each host, shared by all audits on this machine: one small file per host in the user's cache.

An audit that asks a host one request at a time locks the host's file for the length of the request. The kernel
releases the lock of a dead process, so a crash blocks no other audit, and the contents of the file stay valid.
An audit that must wait writes down when it will look again (a `Wish`). The audit that asked last then lets it go first.
Without that, a slow host would be asked by one audit alone until that audit ends.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import lock_descriptor

from crawler.politeness.pacing import SharedHostState

#: Bounds of the seconds before an audit looks again at a host that another audit holds. They grow with the wait.
POLL_S, LONGEST_POLL_S = 0.05, 0.5
#: Seconds that the audit that asked last waits for another audit whose wish is due.
GRACE_S = 0.25
#: Seconds after which the lock of another audit is ignored: that audit is suspended.
LONGEST_REQUEST_S = 600.0
#: Seconds after the last write when a file is removed.
KEPT_S = 7 * 86_400.0
_MOST_BYTES = 200
"""The length of a host's state in its file; the wish follows it."""
_MOST_WISH_BYTES = 100


@dataclass(frozen=True, slots=True)
class HostWait:
    """The wait before a host may be claimed again."""

    seconds: float
    is_host_pause: bool = False
    """True if the host asked for a pause; False if another audit is asking it, or has just asked it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The intention of an audit to send a request to a host."""

    by: str
    """Identifier of the audit."""
    looks_at: float
    """Time at which the audit reads the host's file again, in seconds of the machine's clock."""

    def is_due(self, now: float) -> bool:
        """Return True if other audits should let the audit of this wish go first.

        They do so from shortly before `looks_at` until `GRACE_S` seconds after it.
        """
        return self.looks_at - LONGEST_POLL_S <= now < self.looks_at + GRACE_S


class HostLease:
    """The permission to ask a host once; other audits see the result in the host's file."""

    def __init__(self, descriptor: int | None, wall: Callable[[], float], started_at: float, by: str) -> None:
        self._descriptor = descriptor
        self._wall = wall
        self._started_at = started_at
        self._by = by

    def mark_sent(self) -> None:
        """Set the start of the request to the current time, when it was sent."""
        self._started_at = max(self._wall(), self._started_at)

    @property
    def is_alone(self) -> bool:
        """True if no other audit gets a turn before this one is released."""
        return self._descriptor is not None

    def release(self, pause_s: float) -> None:
        """End the turn, and keep other audits from the host for *pause_s* seconds. Raises OSError."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            _write_state(descriptor, SharedHostState(self._started_at, self._wall() + pause_s, self._by))
        finally:
            os.close(descriptor)


class HostFiles:
    """The files of hosts in *folder*, which is created at the first use; *wall* is the machine's clock."""

    def __init__(self, folder: Path, *, wall: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._wall = wall
        self._is_open = False
        self._name = secrets.token_hex(4)
        """The identifier of this audit in the files."""
        self._locked_since: dict[str, float] = {}
        """The time when this audit first found a host's file locked, by host; without hosts whose lock it got since."""

    def claim(self, host: str, gap_s: float, *, is_alone: bool) -> HostLease | HostWait:
        """Return a lease for *host*, or the wait before the next try.

        A lease starts at least *gap_s* after the last request of any audit. With *is_alone*, no other audit gets a
        turn before its release. Raises OSError if the cache is unusable.
        """
        descriptor = self._open_file(host)
        claim: HostLease | HostWait | None = None
        try:
            claim = self._try_claim(host, descriptor, gap_s, is_alone=is_alone)
        finally:
            if not isinstance(claim, HostLease) or not claim.is_alone:
                os.close(descriptor)
        return claim

    def _try_claim(self, host: str, descriptor: int, gap_s: float, *, is_alone: bool) -> HostLease | HostWait:
        """Claim the turn at *host* for one request, or return the time to wait for it.

        *descriptor* is the open file of the host, *gap_s* the interval in seconds. With *is_alone*, the claim lasts
        until the lease is released.
        """
        now = self._wall()
        if not lock_descriptor(descriptor, blocking=False):
            return self._claim_locked(host, descriptor, now)
        self._locked_since.pop(host, None)
        if os.fstat(descriptor).st_nlink == 0:  # removed after it was opened and before it was locked
            return HostWait(0.0)
        stored_state = _read_state(descriptor, now)
        state = stored_state.as_of(now)
        if state != stored_state:
            _write_state(descriptor, state)
        wait_s = state.wait_s(now, gap_s)
        if wait_s > 0:
            return self._wait(descriptor, now, wait_s, is_host_pause=wait_s > gap_s)
        wish = _read_wish(descriptor)
        if wish.by == self._name:
            _write_wish(descriptor, Wish("", 0.0))
        elif state.by == self._name and wish.is_due(now):
            return HostWait(POLL_S)
        _write_state(descriptor, SharedHostState(now, now, self._name))
        return HostLease(descriptor if is_alone else None, self._wall, now, self._name)

    def _claim_locked(self, host: str, descriptor: int, now: float) -> HostLease | HostWait:
        """Return the wait for *host*, whose file another audit has locked.

        If the lock has lasted longer than any request, that audit is taken for suspended, and the result is a lease.
        """
        locked_since = self._locked_since.setdefault(host, now)
        # That audit writes its state only after it got the lock. Until then the file is empty, or its state is old.
        if os.fstat(descriptor).st_size == 0:
            return HostWait(POLL_S)
        started_at = _read_state(descriptor, now).started_at
        if now - max(started_at, locked_since) >= LONGEST_REQUEST_S:
            return HostLease(None, self._wall, now, self._name)
        return self._wait(descriptor, now, min(max((now - started_at) / 4, POLL_S), LONGEST_POLL_S))

    def _wait(self, descriptor: int, now: float, seconds: float, *, is_host_pause: bool = False) -> HostWait:
        """Record in the open file *descriptor* that this audit is next after *seconds*, and return that wait."""
        _write_wish(descriptor, Wish(self._name, now + seconds))
        return HostWait(seconds, is_host_pause)

    def pause(self, host: str, pause_s: float) -> None:
        """Keep other audits from *host* for *pause_s* seconds. Does nothing if another audit holds its lock. Raises OSError."""
        descriptor = self._open_file(host)
        try:
            if lock_descriptor(descriptor, blocking=False):
                now = self._wall()
                state = _read_state(descriptor, now).as_of(now)
                _write_state(descriptor, replace(state, open_again_at=max(state.open_again_at, now + pause_s)))
        finally:
            os.close(descriptor)

    def path(self, host: str) -> Path:
        """Return the path of the file of *host*; its name has a readable part and a digest."""
        digest = hashlib.sha256(host.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        return self._folder / f"{re.sub('[^a-z0-9.-]+', '_', host)[:60]}-{digest}.json"

    def _open_file(self, host: str) -> int:
        """Return the open descriptor of a host's file; create the folder again if it was removed."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        if self._is_open:
            with suppress(FileNotFoundError):
                return os.open(self.path(host), flags, 0o600)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._is_open = True
        oldest_kept = self._wall() - KEPT_S
        for entry in os.scandir(self._folder):
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False) and entry.stat().st_mtime < oldest_kept:
                    _clear_away(entry.path)
        return os.open(self.path(host), flags, 0o600)


def _clear_away(path: str) -> None:
    """Remove an unlocked file. An audit that opens it at this moment sees the removal and opens a new file."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if lock_descriptor(descriptor, blocking=False):
            os.unlink(path)  # noqa: PTH108
    finally:
        os.close(descriptor)


def _read_state(descriptor: int, now: float) -> SharedHostState:
    """Return the state in a file. An unreadable state counts as a request at the time of the file's last write."""
    octets = os.pread(descriptor, _MOST_BYTES, 0)
    if not octets:
        return SharedHostState(0.0, 0.0)
    try:
        fields: Any = json.loads(octets.decode())
        times_s = [float(fields[name]) for name in ("started_at", "open_again_at")]
    except (ValueError, TypeError, KeyError):
        times_s = []
    if not times_s or not all(map(math.isfinite, times_s)):
        written_at = min(os.fstat(descriptor).st_mtime, now)
        return SharedHostState(written_at, written_at)
    started_at, open_again_at = times_s
    return SharedHostState(started_at, open_again_at, str(fields.get("by", "")))


def _write_state(descriptor: int, shared: SharedHostState) -> None:
    started_at, open_again_at = round(shared.started_at, 6), round(shared.open_again_at, 6)
    text = json.dumps({"started_at": started_at, "open_again_at": open_again_at, "by": shared.by})
    os.pwrite(descriptor, text.ljust(_MOST_BYTES).encode(), 0)


def _read_wish(descriptor: int) -> Wish:
    """Return the last wish in a file; an unreadable wish is never due."""
    octets = os.pread(descriptor, _MOST_WISH_BYTES, _MOST_BYTES)
    if not octets:  # no audit has had to wait yet
        return Wish("", 0.0)
    try:
        fields: Any = json.loads(octets.decode())
        return Wish(str(fields["by"]), float(fields["looks_at"]))
    except (ValueError, TypeError, KeyError):
        return Wish("", 0.0)


def _write_wish(descriptor: int, wish: Wish) -> None:
    """Write a wish without holding the lock. If two audits write at once, one wish is lost, which does no harm."""
    text = json.dumps({"by": wish.by, "looks_at": round(wish.looks_at, 6)})
    os.pwrite(descriptor, text.ljust(_MOST_WISH_BYTES).encode(), _MOST_BYTES)
