"""Test whether a resolver of ARKs conforms to the specification, section by section (draft-kunze-ark-38)."""

from collections.abc import Mapping

from arkaudit.hooks import hookimpl


@hookimpl
def commands() -> Mapping[str, tuple[str, str]]:
    """Return the command `conform`."""
    return {"conform": (f"{__name__}.command:conform", "Test a resolver against the specification.")}
