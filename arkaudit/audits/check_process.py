"""`arkaudit.check` resolves and judges ARKs in a child process, for scripts and notebooks.

Twisted's reactor starts only once in a process, and not while another event loop runs. A child process has its own.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from extractors.model.ark import Ark
from extractors.model.errors import ArkauditError
from extractors.model.normalize import NotAnArk

if TYPE_CHECKING:
    from crawler.model.observations import Verdict

#: Command line of the child. -P ignores packages of the same names in the working directory.
_CHILD = (sys.executable, "-P", "-m", "arkaudit.audits.check_process")
_MAX_QUOTED = 100


@overload
def check(  # type: ignore[overload-overlap]  # a str is an iterable of str, too
    arks: str | Ark,
    *,
    config: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Verdict: ...
@overload
def check(
    arks: Iterable[str | Ark],
    *,
    config: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> list[Verdict]: ...
def check(
    arks: str | Ark | Iterable[str | Ark],
    *,
    config: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Verdict | list[Verdict]:
    """Return the verdict on one ARK, or a list of verdicts on several ARKs in their order.

    A verdict covers the object, metadata and commitment services. The call blocks until all requests are answered;
    hosts are throttled as by the command. It also works in a notebook and while an event loop runs.

    Args:
        arks: One ARK or several, in any spelling, alone or in a URL, which is then requested. Pass many ARKs in one
            call, because their hosts are asked at the same time.
        config: A configuration file, as for ``--config``.
        settings: Settings by dotted name, over those of the file: ``{"politeness.contact": "me@example.org"}``.
        store: A file that keeps every request and answer. An unfinished check of the same ARKs is resumed.
        progress: Show progress on standard error.

    Raises:
        extractors.model.normalize.NotAnArk: One of *arks* holds no ARK. Nothing was requested.
        ArkauditError: `ConfigError` for a setting, `StoreError` for the store, the base class if the process failed.
        KeyboardInterrupt: The check was interrupted. The *store* holds the observations until then.
    """
    asked = [str(arks)] if isinstance(arks, str | Ark) else [str(ark) for ark in arks]
    if not asked:
        return []
    request = {
        "asked": asked,
        "config": None if config is None else Path(config).absolute(),
        "settings": dict(settings or {}),
        "store": None if store is None else Path(store).absolute(),
        "progress": progress,
    }
    child = subprocess.Popen(_CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        answer, _ = child.communicate(pickle.dumps(request))
    except BaseException:
        # Ctrl-C may have reached this process only.
        child.send_signal(signal.SIGINT)
        child.communicate()
        raise
    try:
        verdicts: list[Verdict] | BaseException = pickle.loads(answer)
    except Exception:
        raise ArkauditError(f"the process of the check ended with {child.returncode} and without verdicts") from None
    if isinstance(verdicts, BaseException):
        raise verdicts
    return verdicts[0] if isinstance(arks, str | Ark) else verdicts


def _answer(request: Mapping[str, Any]) -> list[Verdict] | BaseException:
    """Return the verdicts for *request*, as `check` makes it, or the exception that `check` then raises."""
    from rich.console import Console

    from arkaudit.audits.checking import judge_lines
    from arkaudit.configuration.config_files import load
    from arkaudit.output.exits import quiet
    from arkaudit.output.logs import start_log
    from crawler.model.observations import Verdict
    from crawler.spiders.seeds import mention_in
    from crawler.store import StoreError
    from extractors.mentions.mention import Mention
    from extractors.model.errors import UserMistake

    texts: Sequence[str] = request["asked"]
    mentions = [mention_in(text) for text in texts]
    for text, mention in zip(texts, mentions, strict=True):
        if not isinstance(mention, Mention):
            return NotAnArk(f"{text[:_MAX_QUOTED]!r} {mention}")
    try:
        config = load(request["config"], request["settings"])
        quiet.is_on = not request["progress"]
        start_log(config, lambda: Console(stderr=True))
        verdicts, run = judge_lines(texts, mentions, config, request["store"])
    except (StoreError, UserMistake) as error:
        return type(error)(str(error))
    if run.interruption is not None:
        return KeyboardInterrupt()
    return [verdict for verdict in verdicts if isinstance(verdict, Verdict)]


def _main() -> None:
    """Read a pickled request from standard input, and write the pickled answer to standard output."""
    request = pickle.load(sys.stdin.buffer)
    out = os.fdopen(os.dup(1), "wb")
    # Output that a library prints goes to standard error.
    os.dup2(2, 1)
    # The pipe is broken if the parent is gone.
    with suppress(BrokenPipeError), out:
        pickle.dump(_answer(request), out)


if __name__ == "__main__":
    _main()
