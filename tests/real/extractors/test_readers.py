"""Mail and workbooks that are read by the command, and ones that kill their parser."""

import mailbox
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from extractors.archives.members import ArchiveMember
from extractors.extraction import extract_in_time
from extractors.isolated import read_member
from extractors.processes.worker import Worker
from tests.real.loopback import json_lines, run_command
from tests.unit.extractors.packages import odt, xlsx
from tests.unit.extractors.test_mail_reader import mentions_in, message
from tests.vectors import FOLDER


def test_a_mailbox_holds_messages(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "a.mbox")
    for number in (5, 6):
        made = message()
        made.set_content(f"First line\n\nFrom here on: ark:/12345/x{number}\n")
        box.add(made)
    box.flush()
    data = (tmp_path / "a.mbox").read_bytes()
    assert b"\n>From here on" in data
    assert mentions_in(data) == [("ark:12345/x5", "text", "message:1"), ("ark:12345/x6", "text", "message:2")]
    rows = json_lines(run_command("extract", tmp_path / "a.mbox").stdout)
    assert [row["place"] for row in rows] == ["message:1", "message:2"]


def test_attached_pdf_that_kills_its_parser_loses_only_the_mail() -> None:
    made = message()
    bomb = (Path(__file__).parents[2] / "fixtures" / "recursive_form.pdf").read_bytes()
    made.add_attachment(bomb, maintype="application", subtype="pdf", filename="a.pdf")
    worker = Worker(partial(extract_in_time, cpu_s=60), memory_bytes=2**30)
    read = read_member(worker, ArchiveMember("a.eml", "a.eml", made.as_bytes()))
    worker.close()
    assert [finding.kind for finding in read.findings] == ["parser-crashed"]


LIMITED = """
import resource, sys
from extractors.readers.office import office_reader

data = sys.stdin.buffer.read()
resource.setrlimit(resource.RLIMIT_AS, (600 * 2**20, 600 * 2**20))
print(*(finding.kind for finding in getattr(office_reader, sys.argv[1])(data).findings))
"""


CELLS = "<c t='s'><v>0</v></c>"

STRING = {"xl/sharedStrings.xml": f"<sst><si><t>{'x' * 2**20}</t></si></sst>"}

ROWS = "<table:table-row table:number-rows-repeated='999999999'/>"


def repeat(piece):
    return piece * (70 * 2**20 // len(piece))


@pytest.mark.parametrize(
    ("reader", "bomb"),
    [
        ("read_xlsx", lambda: xlsx(f"<worksheet><row>{repeat(CELLS)}", parts=STRING)),
        ("read_xlsx", lambda: xlsx(f"<worksheet>{repeat('<c>')}")),
        ("read_ods", lambda: odt(f"<office:spreadsheet><table:table>{repeat(ROWS)}")),
    ],
    ids=["one string in every cell", "elements within one another", "repeated rows"],
)
def test_spreadsheet_bomb_takes_bounded_memory(reader, bomb):
    data = bomb()
    assert len(data) < 2**19
    command = [sys.executable, "-c", LIMITED, reader]
    done = subprocess.run(command, input=data, capture_output=True, cwd=FOLDER.parents[1], timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"cut-off" in done.stdout
