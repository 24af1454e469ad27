"""Time and memory of a report on a generated dataset, by default of 10 million mentions in 1 million documents.

The report is made twice, and must be the same, byte for byte. An argument sets another number of millions of mentions.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from arkaudit.datasets.columns import DATASET_TABLES
from arkaudit.datasets.plan import FORMAT, FORMAT_VERSION, MANIFEST, InputTotal, Manifest, TableFiles
from arkaudit.datasets.storage import digest_of_file

PART = 1_000_000
MENTIONS_PER_DOCUMENT = 10
ARKS_OF_MENTIONS = 20
"""Number of mentions per distinct ARK."""
FLOOR_S, FLOOR_MB = 40.0, 2000.0
_MENTION = f"""
    SELECT 'papers/' || d % 997 || '/' || d || '.pdf' AS document, 'papers/' || d % 997 || '/' || d || '.pdf' AS source,
        '' AS record, (i % {MENTIONS_PER_DOCUMENT} + 1)::INTEGER AS ordinal, 'ark:' || naan || '/' || name AS ark, naan,
        'b' || (h % 10) AS shoulder, name, '' AS qualifier,
        'https://n2t.net/ark:/' || naan || '/' || name AS as_written,
        'https://n2t.net/ark:/' || naan || '/' || name AS repaired, 'text' AS role, (i % 9 + 1)::INTEGER AS page,
        NULL::INTEGER AS line,
        'p' AS place, [[10::INTEGER, 40::INTEGER]] AS spans, 'see there' AS context,
        CASE WHEN h % 5 = 0 THEN ['line wrap'] WHEN h % 17 = 0 THEN ['line wrap', 'soft hyphen'] ELSE [] END AS repairs,
        CASE WHEN h % 3 = 0 THEN NULL ELSE 'https://resolver' || h % 211 || '.example/' END AS resolver,
        '' AS inflection, '' AS fragment, 'certain' AS confidence, 'complete' AS reason,
        []::VARCHAR[] AS alternatives,
        'none' AS "check", []::VARCHAR[] AS suggestions, []::VARCHAR[] AS spelling,
        (i % {MENTIONS_PER_DOCUMENT} + 1)::INTEGER AS citation,
        'https://n2t.net/ark:/' || naan || '/' || name AS requested, 1::INTEGER AS decided
    FROM (SELECT *, lpad((10000 + h % 1000)::VARCHAR, 5, '0') AS naan, 'b' || (h % 10) || 'x' || h AS name
          FROM (SELECT i, i // {MENTIONS_PER_DOCUMENT} AS d, hash(i) % $arks AS h FROM range($first, $last) AS r(i)))
"""
_DOCUMENT = """
    SELECT 'papers/' || d % 997 || '/' || d || '.pdf' AS document, 'papers/' || d % 997 || '/' || d || '.pdf' AS source,
        '' AS record, NULL::VARCHAR AS url, 'read' AS outcome, 'application/pdf' AS media_type, 'Paper ' || d AS title,
        10000::BIGINT AS bytes, md5(d::VARCHAR) AS sha256, 10::INTEGER AS mentions
    FROM range($first, $last) AS r(d)
"""
_FINDING = "SELECT 'a' AS document, 'a' AS source, '' AS record, 'damaged' AS kind, 'x' AS detail WHERE false"


def main() -> int:
    """Print time and memory; return 1 above a bound for ten million mentions, or if two reports differ."""
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder, "ds")
        _make(dataset, millions)
        seconds, megabytes, first = _report(dataset, Path(folder, "first"))
        _, _, second = _report(dataset, Path(folder, "second"))
    print(
        f"dataset_report: {millions} million mentions in {seconds:.0f} s of CPU (bound {FLOOR_S:.0f} for 10), "
        f"{megabytes:.0f} MB (bound {FLOOR_MB:.0f}); two reports are {'equal' if first == second else 'DIFFERENT'}"
    )
    return int(first != second or megabytes > FLOOR_MB or (millions == 10 and seconds > FLOOR_S))


def _make(place: Path, millions: int) -> None:
    """Make a dataset of *millions* of mentions."""
    files: dict[str, list[str]] = {table.name: [] for table in DATASET_TABLES}
    arks, documents = millions * PART // ARKS_OF_MENTIONS, PART // MENTIONS_PER_DOCUMENT
    for table in files:
        (place / table).mkdir(parents=True)
    with duckdb.connect(":memory:") as connection:
        for part in range(millions):
            ranges = {"mentions": (_MENTION, PART), "documents": (_DOCUMENT, documents)}
            if not part:
                ranges["findings"] = (_FINDING, 0)
            for table, (query, size) in ranges.items():
                name = f"{table}/p{part + 1:06}-0123456789abcdef-00000000.parquet"
                filled = query.replace("$first", str(part * size)).replace("$last", str((part + 1) * size))
                filled = filled.replace("$arks", str(arks))
                connection.execute(f"COPY ({filled}) TO '{place / name}' (FORMAT parquet, COMPRESSION zstd)")
                files[table].append(name)
    rows = {"mentions": millions * PART, "documents": millions * documents, "findings": 0}
    tables = {
        table: TableFiles(rows[table], tuple(names), tuple(digest_of_file(place / name) for name in names))
        for table, names in files.items()
    }
    inputs = InputTotal(files=millions, bytes=millions)
    manifest = Manifest(FORMAT, FORMAT_VERSION, "0.1.0", "0123456789abcdef", inputs, millions, tables)
    (place / MANIFEST).write_bytes(manifest.to_bytes())


def _report(dataset: Path, out: Path) -> tuple[float, float, str]:
    """Make a report, and return seconds of CPU, maximum megabytes, and a digest of all tables."""
    command = [sys.executable, "-P", "-m", "arkaudit", "report", "--dataset", str(dataset), "--out", str(out)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"dataset_report: {time.perf_counter() - started:.0f} s by the clock", file=sys.stderr)
    digest = hashlib.sha256()
    for file in sorted(out.rglob("*.csv")):
        digest.update(file.read_bytes())
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_maxrss / 1000, digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
