"""`arkaudit.check`: resolve and judge ARKs from a script or a notebook, in a process of their own.

Twisted's reactor starts once in a process, and never with another event loop; a child process has its own, so that
a check can be made again and again, also where a loop is running already.
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

#: How the child is begun: -P, since a folder named like a package of ours may lie in the working directory.
_CHILD = (sys.executable, "-P", "-m", "arkaudit.check_process")
_MOST_SAID = 100


class CheckFailed(ArkauditError):
    """Raised by `check` when its process died, or ended without verdicts."""


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
    """Return the verdict on an ARK, or those on several in their order: its object, its metadata, its commitment.

    It blocks until all is asked; hosts are asked as politely as by the command. It may be called in a notebook and
    wherever an event loop runs. Ctrl-C ends it in good order.

    Args:
        arks: an ARK, in any spelling, alone or in a URL (which is then asked itself); or several of them. Many are
            better asked for together than one by one: hosts are then asked at the same time.
        config: a configuration file, as the command takes it with ``--config``.
        settings: settings by their dotted names, over those of the file: ``{"politeness.contact": "me@example.org"}``.
        store: a file that keeps every request and answer. A check of the same ARKs that did not finish goes on.
        progress: show on standard error how far it is.

    Raises:
        extractors.model.normalize.NotAnArk: when one of *arks* holds no ARK; nothing has been asked then.
        ArkauditError: `ConfigError` for a setting, `StoreError` for the store, `CheckFailed` for the process.
        KeyboardInterrupt: when it was interrupted; what was observed is in the *store*.
    """
    asked = [str(arks)] if isinstance(arks, str | Ark) else [str(ark) for ark in arks]
    if not asked:
        return []
    verdicts = _judged_apart(
        {
            "asked": asked,
            "config": None if config is None else str(Path(config).absolute()),
            "settings": dict(settings or {}),
            "store": None if store is None else str(Path(store).absolute()),
            "progress": progress,
        }
    )
    return verdicts[0] if isinstance(arks, str | Ark) else verdicts


def _judged_apart(request: Mapping[str, Any]) -> list[Verdict]:
    child = subprocess.Popen(_CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        answer, _ = child.communicate(pickle.dumps(request))
    except BaseException:  # Ctrl-C, also where only this process hears of it
        child.send_signal(signal.SIGINT)
        child.communicate()
        raise
    try:
        outcome = pickle.loads(answer)
    except Exception:
        raise CheckFailed(f"the process of the check ended with {child.returncode} and without verdicts") from None
    if isinstance(outcome, BaseException):
        raise outcome
    verdicts: list[Verdict] = outcome
    return verdicts


def _answer(request: Mapping[str, Any]) -> list[Verdict] | BaseException:
    """The verdicts that *request* asks for, or what `check` is to raise."""
    from rich.console import Console

    from arkaudit.checking import judged_lines
    from arkaudit.config_files import load
    from arkaudit.exits import quiet
    from arkaudit.logs import start
    from crawler.model.observations import Verdict
    from crawler.spiders.seeds import mention_in
    from crawler.store import StoreError
    from extractors.mentions.mention import Mention
    from extractors.model.errors import UserMistake

    asked: Sequence[str] = request["asked"]
    mentions = [mention_in(text) for text in asked]
    for text, mention in zip(asked, mentions, strict=True):
        if not isinstance(mention, Mention):
            return NotAnArk(f"{text[:_MOST_SAID]!r} {mention}")
    path, store = request["config"], request["store"]
    try:
        config = load(path and Path(path), request["settings"])
        quiet.is_on = not request["progress"]
        start(config, lambda: Console(stderr=True))
        verdicts, run = judged_lines(asked, mentions, config, store and Path(store))
    except (StoreError, UserMistake) as problem:
        return type(problem)(str(problem))
    if run.was_interrupted:
        return KeyboardInterrupt()
    return [verdict for verdict in verdicts if isinstance(verdict, Verdict)]


def _main() -> None:
    """Read what is asked from standard input, and write the answer to standard output, both pickled."""
    request = pickle.load(sys.stdin.buffer)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    with suppress(BrokenPipeError), out:  # where no one waits for it any more
        pickle.dump(_answer(request), out)


if __name__ == "__main__":
    _main()
