"""One run over a whole zoo: its output, its store, and the requests to the servers.

As a command it writes every verdict of the zoo, sorted, so that two runs can be compared as files:
``python -m tests.real.crawler.zoo_visit verdicts.json``; verdicts other than the expected ones are listed on stderr.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme

from tests.real.crawler.zoo import FOLDER, Animal, ReceivedRequest, Zoo, animals
from tests.real.loopback import json_lines, run_command

#: Seconds for one run: as many as a machine needs that is busy with eight other things.
PATIENCE_S = 900.0
SERVICES = ("object", "metadata", "commitment")

#: Silent hosts get little time, and all others more than a busy machine needs. Only the name that leads nowhere is
#: looked up.
RUNS = {
    "quick": ("--timeout", "25", "--only-routed"),
    "never done": ("--timeout", "3", "--attempts", "1", "--only-routed"),
    "nowhere": ("--timeout", "25"),
}


@dataclass(frozen=True)
class Visit:
    """The results of the run."""

    rows: dict[str, dict[str, Any]]
    store: Path
    requests: list[ReceivedRequest]


def run_of(animal: Animal) -> str:
    """Return the run that asks an animal."""
    faults = {answer.fault for answers in animal.on.values() for answer in answers}
    if animal.place == "nowhere":
        return "nowhere"
    return "never done" if faults & {"hang", "trickle", "trickled-head"} else "quick"


@contextmanager
def visit_zoo(
    inhabitants: Sequence[Animal], folder: Path, run: Callable[..., subprocess.CompletedProcess[str]] = run_command
) -> Iterator[Visit]:
    """Ask about every one of *inhabitants* by *run*, with a store in *folder*; they live as long as this lasts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    with Zoo(inhabitants, authority) as zoo:
        common = [
            "check", "--from", "-", "--store", folder / "zoo.db", "--delay", "0", "--backoff", "0.2",
            "--allow-address", "127.0.0.0/8", "--allow-address", "::1/128", "--ca-file", folder / "ca.pem",
            "--resolver", "http://global.example/", *(f"--connect-to={route}" for route in zoo.routes),
        ]  # fmt: skip
        rows: dict[str, dict[str, Any]] = {}
        for kind, options in RUNS.items():
            asked = [animal.url for animal in inhabitants if run_of(animal) == kind]
            if not asked:
                continue
            done = run(*common, *options, stdin="\n".join(asked), timeout_s=PATIENCE_S)
            assert done.returncode == 0, done.stderr
            rows |= {row["asked"]: row for row in json_lines(done.stdout)}
        yield Visit(rows, folder / "zoo.db", zoo.requests)


def stable_verdict(animal: Animal, row: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a verdict that is equal on every visit: outcomes and remarks, without ports."""
    return {
        "animal": animal.name,
        **{service: row[service]["outcome"] for service in SERVICES},
        "final_url": (row["final_url"] or "").partition("?")[0],  # some servers count their visitors there
        "remarks": row["remarks"],
    }


def main() -> int:
    """Visit a zoo, and write its verdicts to a file."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.crawler.zoo_visit", description=main.__doc__)
    parser.add_argument("out", type=Path, help="where the verdicts go, as JSON")
    parser.add_argument("--animals", type=Path, default=FOLDER, help="the folder of their data files")
    options = parser.parse_args()
    inhabitants = animals(options.animals)
    with tempfile.TemporaryDirectory() as folder, visit_zoo(inhabitants, Path(folder)) as visit:
        verdicts = [stable_verdict(animal, visit.rows[animal.url]) for animal in inhabitants]
    options.out.write_text(json.dumps(verdicts, ensure_ascii=False, indent=1) + "\n", "utf-8")
    wrong = 0
    for animal, verdict in zip(inhabitants, verdicts, strict=True):
        for service in SERVICES:
            if verdict[service] not in getattr(animal, service).split("|"):
                wrong += 1
                row = visit.rows[animal.url][service]["evidence"]
                words = f"{animal.name}: {service} {verdict[service]}, not {getattr(animal, service)}: {row}"
                print(words, file=sys.stderr)
    print(f"{len(verdicts)} animals, {wrong} outcomes of {3 * len(verdicts)} are not as expected", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
