"""The loopback web: each host has its own port, and a certificate from a temporary authority."""

from __future__ import annotations

import logging
import mimetypes
import random
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import trustme

from tools.demo.resolvers import ARKLET_NAMES, HOSTS, NOT_FOUND, Behaviour, DemoAnswer

# -- a real resolver: Internet Archive's arklet, unchanged, on SQLite

ARKLET_HOST = "ark.archive.org"
_NAAN = 13960


def arklet_application(database: Path) -> Callable[..., Any]:
    """Return arklet's WSGI application with a new *database* that binds the demo's ARKs to their landing pages."""
    import django
    from arklet.entrypoints import settings as arklets_own
    from django.conf import settings
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    from django.db import connections

    own = {name: getattr(arklets_own, name) for name in dir(arklets_own) if name.isupper()}
    ours = {
        "DEBUG": False,
        "ALLOWED_HOSTS": [ARKLET_HOST],
        "DATABASES": {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(database)}},
        "MIGRATION_MODULES": {"ark": None},
    }
    # Django can be set up only once in a process.
    if settings.configured:
        connections.settings["default"]["NAME"] = str(database)
        del connections["default"]
    else:
        settings.configure(**{**own, **ours})
        django.setup()
    # Django logs each 404, which the demo provokes.
    logging.getLogger("django.request").setLevel(logging.CRITICAL)
    logging.getLogger("arklet").setLevel(logging.CRITICAL)
    call_command("migrate", run_syncdb=True, verbosity=0)

    from arklet.ark.models import Ark, Naan

    naan = Naan.objects.create(
        naan=_NAAN, name="Internet Archive", description="The demo's own copy", url="https://archive.org"
    )
    for name in ARKLET_NAMES:
        Ark.objects.create(
            ark=f"{_NAAN}/{name}",
            naan=naan,
            shoulder="/",
            assigned_name=name,
            url=f"https://archive.org/details/{name}",
            metadata="",
            commitment="kept for ever",
        )
    application: Callable[..., Any] = get_wsgi_application()
    return application


SITE_HOST = "library.example"
SEED = f"https://{SITE_HOST}/"


def document_site(target: str) -> DemoAnswer:
    """Show the document of the library at a path."""
    name = target.partition("?")[0].lstrip("/") or "index.html"
    document = files("tools.demo").joinpath("site", name)
    if "/" in name or not document.is_file():
        return NOT_FOUND
    return DemoAnswer(200, document.read_bytes(), mimetypes.guess_type(name)[0] or "application/octet-stream")


class _DemoServer:
    """A server that does not delay the end of the process, and ignores clients that hang up."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: the crawler closes connections after it has read enough."""


class _Server(_DemoServer, ThreadingHTTPServer):
    pass


class _WsgiServer(_DemoServer, ThreadingMixIn, WSGIServer):
    pass


class _QuietWsgiHandler(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


class LoopbackWeb:
    """A context manager that runs the servers; `connect_to` and `ca_file` are the settings to reach them."""

    def __init__(self) -> None:
        self.connect_to: list[str] = []
        self.requests: list[tuple[str, str]] = []
        """Host and target of each request, in order of arrival."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="arkaudit-demo-")))
        authority = trustme.CA()
        self.ca_file = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.ca_file))
        try:
            for (scheme, host), behaviour in {("https", SITE_HOST): document_site, **HOSTS}.items():
                server = _Server(("127.0.0.1", 0), self._handler(host, behaviour))
                self._serve(scheme, host, authority, server)
            arklet = _WsgiServer(("127.0.0.1", 0), _QuietWsgiHandler)
            application = arklet_application(folder / "arklet.db")

            def record(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
                query = environ.get("QUERY_STRING")
                self.requests.append((ARKLET_HOST, environ["PATH_INFO"] + (f"?{query}" if query else "")))
                return application(environ, start_response)

            arklet.set_app(record)
            self._serve("https", ARKLET_HOST, authority, arklet)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _serve(self, scheme: str, host: str, authority: trustme.CA, server: Any) -> None:
        port = server.server_address[1]
        if scheme == "https":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert(host).configure_cert(context)
            # The handshake runs in the thread of the connection, so that a slow client does not block the others.
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        # In reverse order.
        for end in (server.server_close, thread.join, server.shutdown):
            self._stack.callback(end)
        self.connect_to.append(f"{host}:{443 if scheme == 'https' else 80}=127.0.0.1:{port}")

    def _handler(self, host: str, behaviour: Behaviour) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.requests.append((host, self.path))
                is_other_robots = self.path == "/robots.txt" and host != SITE_HOST
                reply = NOT_FOUND if is_other_robots else behaviour(self.path)
                # Answers overtake others, as on the real web, and in the same order each time.
                time.sleep(reply.delay_s + random.Random(host + self.path).uniform(0, 0.02))
                body = reply.body.encode() if isinstance(reply.body, str) else reply.body
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.media_type)
                self.send_header("Content-Length", str(len(body)))
                if reply.location:
                    self.send_header("Location", reply.location)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
