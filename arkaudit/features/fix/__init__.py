"""Correct citations in files: what to write, where in the source it may be written, and how a file is replaced."""

from collections.abc import Mapping

from arkaudit.hooks import hookimpl


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `fix`."""
    line = "Correct citations in texts: broken line ends, look-alike hyphens, invisible characters."
    return {"fix": (f"{__name__}.command:fix", line)}
