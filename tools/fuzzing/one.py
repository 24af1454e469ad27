"""Run one target under atheris, with the project's modules instrumented."""

from __future__ import annotations

import sys

import atheris

if __name__ == "__main__":
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["arkaudit", "crawler", "extractors", "reports"]):
        from tools.fuzzing.targets import TARGETS
    atheris.Setup(sys.argv, TARGETS[name])
    atheris.Fuzz()
