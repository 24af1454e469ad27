"""A secret that a host repeats reaches no store, log or report."""

import gzip
from pathlib import Path

from crawler.wire.redaction import HIDDEN
from tests.real.loopback import ON_LOOPBACK, RawServer, reply, run_command
from tests.unit.crawler.test_redaction import COOKIE, TOKEN


def test_repeated_secret_reaches_no_store_log_or_report(tmp_path: Path) -> None:
    (tmp_path / "arkaudit.toml").write_text(
        f"""
        [hosts."http://own.example"]
        headers = {{ Authorization = "Bearer {TOKEN}" }}
        cookies = {{ session = "{COOKIE}" }}
        interval = 0
        """
    )
    said = f"Bearer {TOKEN} {COOKIE}"

    def respond(target: str) -> bytes:
        if target == "/moved":
            return reply("302 Found", Location=f"/landed?tok={TOKEN}")
        if target == "/z":
            packed = gzip.compress(f"see ark:/12x45/gz1 {said}".encode())
            head = f"Content-Type: application/gzip\r\nContent-Length: {len(packed)}\r\nConnection: close\r\n\r\n"
            return b"HTTP/1.1 200 OK\r\n" + head.encode() + packed
        if target == "/broken" or "x6" in target:
            return f"HTTP/1.1 {said}\r\nbad {said}\r\n\r\n".encode()
        links = "".join(f"<a href='/{name}'>{name}</a>" for name in ("moved", "z", "broken"))
        page = f"<title>{said}</title>{links}<a href='/p?tok={TOKEN}'>p</a> ark:/12x45/x5 ark:/12x45/x6 {said}"
        return reply(body=page, X_Server=said, Link=f'<{TOKEN}>; rel="cite-as"', Content_Language=TOKEN)

    with RawServer(respond) as server:
        done = run_command(
            "run", "-c", tmp_path / "arkaudit.toml", "--connect-to", f"own.example:80=127.0.0.1:{server.port}",
            *ON_LOOPBACK, "--resolver", "http://own.example/", "--attempts", "1", "--depth", "2",
            "--log-file", tmp_path / "a.log", "--log-level", "debug",
            "--store", tmp_path / "a.db", "--out", tmp_path / "report", "http://own.example/",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert {"/z", "/moved", "/broken"} <= set(server.targets)
        assert any("Bearer" in head for head in server.heads)
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "arkaudit.toml"]
    texts = {file.name: file.read_bytes().decode("latin-1") for file in files}
    texts |= {"stdout": done.stdout, "stderr": done.stderr}
    assert {"a.log", "a.db", "index.html"} <= texts.keys()
    assert HIDDEN in texts["a.db"]
    assert [name for name, text in texts.items() if TOKEN in text or COOKIE in text] == []
