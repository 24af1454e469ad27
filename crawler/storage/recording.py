"""Records in groups: what came within a moment is one transaction, so that a crash loses little."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from crawler.storage.store import Recordable, Store
from crawler.storage.store_errors import StoreUnwritable

logger = logging.getLogger(__name__)

#: A commit waits no longer than this, so that a crash loses little, and holds no more than this many records.
COMMIT_AFTER_S = 0.2
COMMIT_AT_ITEMS = 100


class Recorder:
    """Records what one spider observes, in the order in which it is given; what belongs together is never split.

    Used within a running event loop. When the store can't be written any more, *failed* is called, once, and nothing
    further is recorded.
    """

    def __init__(
        self,
        store: Store,
        run_id: int,
        *,
        failed: Callable[[StoreUnwritable], None],
        withheld: Callable[[Recordable], Recordable] = lambda item: item,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._failed = failed
        self._withheld = withheld
        """Takes secrets out of what is recorded."""
        self._has_failed = False
        self._pending: list[Recordable] = []
        self._timer: asyncio.TimerHandle | None = None
        self.on_add: Callable[[Sequence[Recordable]], None] = lambda items: None
        """Called with what is to be recorded, as it was given."""
        self.on_commit: Callable[[Sequence[Recordable]], None] = lambda items: None
        """Told what a transaction has just recorded."""
        self.beside: Callable[[], Sequence[Recordable]] = tuple
        """What is to be recorded in the same transaction as whatever else is."""

    def add(self, *items: Recordable) -> None:
        """Record *items* in one transaction, at once or in a moment; and with none, what is `beside` in a moment."""
        self._pending += map(self._withheld, items)
        if len(self._pending) >= COMMIT_AT_ITEMS:
            self.commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_AFTER_S, self.commit)
        self.on_add(items)

    def commit(self) -> bool:
        """Record what is pending now; whether anything was."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items, self._pending = [*self._pending, *self.beside()], []
        if not items or self._has_failed:
            return False
        try:
            self._store.record(self._run_id, items)
        except Exception as failure:
            # Also what we did not foresee: a run that went on would say that it finished, without these records.
            self._has_failed = True
            if not isinstance(failure, StoreUnwritable):
                logger.error("%d records can't be kept", len(items), exc_info=failure)
                failure = StoreUnwritable(f"{len(items)} records can't be kept: {failure!r}")
            self._failed(failure)
            return False
        self.on_commit(items)
        return True
