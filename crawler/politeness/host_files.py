"""The pace of each host, shared by all audits on this machine: one small file a host, in the user's cache.

Who asks a host, one request at a time, holds the lock of its file for as long as the request takes. The kernel
takes the lock from a process that dies, so that no one waits for one; what such a file says is true all the same.
Who has to wait writes down when they will look again, and the one who asked last lets them: a host that answers more
slowly than it may be asked would otherwise be asked by the same audit until that has done with it.
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

from crawler.politeness.pacing import Shared

#: Seconds after which it is looked again whether another audit has done with a host: the longer it takes, the more.
POLL_S, LONGEST_POLL_S = 0.05, 0.5
#: Seconds for which the one who asked last waits for another who wanted to look by now.
GRACE_S = 0.25
#: No one waits longer for another audit's request: that audit has been suspended.
LONGEST_REQUEST_S = 600.0
#: Files that no one has written to for so long are cleared away.
KEPT_S = 7 * 86_400.0
_MOST_BYTES = 200
"""Of what is said of the host; after it is who wants to ask it."""
_MOST_WISH_BYTES = 100


@dataclass(frozen=True, slots=True)
class HostWait:
    """It is not our turn."""

    seconds: float
    is_wish: bool = False
    """Whether the host wants to be left alone; otherwise another audit is just asking it, or has just asked."""


@dataclass(frozen=True, slots=True)
class Wish:
    """An audit wants to ask a host, and looks at a certain moment whether it may."""

    by: str
    looks_at: float

    def is_due(self, now: float) -> bool:
        """Return whether the host is to be left to those who wish that; after a while they are not waited for."""
        return self.looks_at - LONGEST_POLL_S <= now < self.looks_at + GRACE_S


class HostLease:
    """Our turn to ask a host; the others can read what becomes of it."""

    def __init__(self, descriptor: int | None, wall: Callable[[], float], started_at: float, by: str) -> None:
        self._descriptor = descriptor
        self._wall = wall
        self._started_at = started_at
        self._by = by

    def sent(self) -> None:
        """The request went out only now."""
        self._started_at = max(self._wall(), self._started_at)

    @property
    def is_alone(self) -> bool:
        """True if no one else has a turn before this one is released."""
        return self._descriptor is not None

    def release(self, pause_s: float) -> None:
        """The request is done, and the host is to be left alone for so many seconds. Raises OSError."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            _write(descriptor, Shared(self._started_at, self._wall() + pause_s, self._by))
        finally:
            os.close(descriptor)


class HostFiles:
    """The files in *folder*, which is made when it is first needed; *wall* is the machine's clock."""

    def __init__(self, folder: Path, *, wall: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._wall = wall
        self._is_open = False
        self._name = secrets.token_hex(4)
        """By which this audit is known to the others."""

    def claim(self, host: str, gap_s: float, *, is_alone: bool) -> HostLease | HostWait:
        """Our turn at *host*, *gap_s* after the last of anybody's, or how long to wait before asking for it again.

        With *is_alone* no one else gets a turn before it is released. Raises OSError when the cache is of no use.
        """
        descriptor = self._opened(host)
        claim: HostLease | HostWait | None = None
        try:
            claim = self._claimed(descriptor, gap_s, is_alone=is_alone)
        finally:
            if not isinstance(claim, HostLease) or not claim.is_alone:
                os.close(descriptor)
        return claim

    def _claimed(self, descriptor: int, gap_s: float, *, is_alone: bool) -> HostLease | HostWait:
        now = self._wall()
        if not lock_descriptor(descriptor, blocking=False):
            taken_s = now - _read(descriptor, now).started_at
            if taken_s > LONGEST_REQUEST_S:  # it is suspended
                return HostLease(None, self._wall, now, self._name)
            return self._wait(descriptor, now, min(max(taken_s / 4, POLL_S), LONGEST_POLL_S))
        if os.fstat(descriptor).st_nlink == 0:  # cleared away between our opening and our locking
            return HostWait(0.0)
        stored = _read(descriptor, now)
        state = stored.as_of(now)
        if state != stored:
            _write(descriptor, state)
        wait_s = state.wait_s(now, gap_s)
        if wait_s > 0:
            return self._wait(descriptor, now, wait_s, is_wish=wait_s > gap_s)
        wish = _read_wish(descriptor)
        if wish.by == self._name:
            _write_wish(descriptor, Wish("", 0.0))
        elif state.by == self._name and wish.is_due(now):
            return HostWait(POLL_S)
        _write(descriptor, Shared(now, now, self._name))
        return HostLease(descriptor if is_alone else None, self._wall, now, self._name)

    def _wait(self, descriptor: int, now: float, seconds: float, *, is_wish: bool = False) -> HostWait:
        """To wait for so long, which the others can read."""
        _write_wish(descriptor, Wish(self._name, now + seconds))
        return HostWait(seconds, is_wish)

    def pause(self, host: str, pause_s: float) -> None:
        """Have the others leave *host* alone for so long, where no lock is held meanwhile. Raises OSError."""
        descriptor = self._opened(host)
        try:
            if lock_descriptor(descriptor, blocking=False):
                now = self._wall()
                state = _read(descriptor, now).as_of(now)
                _write(descriptor, replace(state, open_again_at=max(state.open_again_at, now + pause_s)))
        finally:
            os.close(descriptor)

    def path(self, host: str) -> Path:
        """The file of *host*: its name as far as file names can hold it, and a digest."""
        digest = hashlib.sha256(host.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        return self._folder / f"{re.sub('[^a-z0-9.-]+', '_', host)[:60]}-{digest}.json"

    def _opened(self, host: str) -> int:
        """The descriptor of a host's file; a folder that someone has cleared away is made anew."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        if self._is_open:
            with suppress(FileNotFoundError):
                return os.open(self.path(host), flags, 0o600)
        self._open_folder()
        return os.open(self.path(host), flags, 0o600)

    def _open_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._is_open = True
        old = self._wall() - KEPT_S
        for entry in os.scandir(self._folder):
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False) and entry.stat().st_mtime < old:
                    _clear_away(entry.path)


def _clear_away(path: str) -> None:
    """Remove a file that no one holds; who opens it at this moment sees that it is gone, and opens another."""
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if lock_descriptor(descriptor, blocking=False):
            os.unlink(path)  # noqa: PTH108
    finally:
        os.close(descriptor)


def _read(descriptor: int, now: float) -> Shared:
    """Return what a file says; one that says nothing sensible counts as written when it was."""
    octets = os.pread(descriptor, _MOST_BYTES, 0)
    if not octets:
        return Shared(0.0, 0.0)
    try:
        fields: Any = json.loads(octets.decode())
        moments = [float(fields[name]) for name in ("started_at", "open_again_at")]
    except (ValueError, TypeError, KeyError):
        moments = []
    if not moments or not all(map(math.isfinite, moments)):
        written_at = min(os.fstat(descriptor).st_mtime, now)
        return Shared(written_at, written_at)
    started_at, open_again_at = moments
    return Shared(started_at, open_again_at, str(fields.get("by", "")))


def _write(descriptor: int, shared: Shared) -> None:
    started_at, open_again_at = round(shared.started_at, 6), round(shared.open_again_at, 6)
    text = json.dumps({"started_at": started_at, "open_again_at": open_again_at, "by": shared.by})
    os.pwrite(descriptor, text.ljust(_MOST_BYTES).encode(), 0)


def _read_wish(descriptor: int) -> Wish:
    """Return who last wanted to ask; one that says nothing sensible was never due."""
    octets = os.pread(descriptor, _MOST_WISH_BYTES, _MOST_BYTES)
    if not octets:  # no one has ever had to wait
        return Wish("", 0.0)
    try:
        fields: Any = json.loads(octets.decode())
        return Wish(str(fields["by"]), float(fields["looks_at"]))
    except (ValueError, TypeError, KeyError):
        return Wish("", 0.0)


def _write_wish(descriptor: int, wish: Wish) -> None:
    """Write it down, no matter who holds the lock: at worst, of two who want to ask only one is known."""
    text = json.dumps({"by": wish.by, "looks_at": round(wish.looks_at, 6)})
    os.pwrite(descriptor, text.ljust(_MOST_WISH_BYTES).encode(), _MOST_BYTES)
