"""Test whether a resolver of ARKs conforms to the specification, section by section (draft-kunze-ark-38)."""

COMMANDS = {"conform": ("command", "Test a resolver against the specification.")}
