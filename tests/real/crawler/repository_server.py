"""A repository whose pages only members see: Django's own log-in with its CSRF protection, in a process of its own.

Run as a program, with the password and a file for its log, it prints its port; `Repository` does that for a test.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from socketserver import ThreadingMixIn
from types import TracebackType
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

USER = "crawler"
FORM = """<title>Members only</title><h1>Log in</h1><form method="post" action="">{% csrf_token %}{{ form.as_p }}
<input type="hidden" name="next" value="{{ next }}"><input type="submit" value="log in"></form>"""
ITEM = "<title>Plan of the harbour</title><h1>Plan of the harbour, sheet {name}</h1><p>Ink on paper, 1784. Log out"


class Repository:
    """Serves ``/ark:12148/x1`` and ``x2`` to who has logged in at ``/accounts/login/``, and 404 for other names."""

    def __init__(self, password: str, folder: Path) -> None:
        self._password = password
        self._log = folder / "repository.log"

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.real.crawler.repository_server", str(self._log)]
        self._process = subprocess.Popen(
            command, cwd=Path(__file__).parents[3], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{self._password}\n")
        self._process.stdin.flush()
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Return the requests received: method, path, and the names of the cookies."""
        return [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]

    def cookies(self) -> set[str]:
        """Return the values of all cookies received."""
        return {value for each in self.requests for value in each["cookies"].values()}


def application(password: str) -> Callable[..., Any]:
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    settings.configure(
        SECRET_KEY="of a test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, USE_TZ=True,
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:m?mode=memory&cache=shared"}},
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies", PASSWORD_HASHERS=[
            "django.contrib.auth.hashers.MD5PasswordHasher"
        ],
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"registration/login.html": FORM})]},
        }],
        LOGIN_REDIRECT_URL="/home",
    )  # fmt: skip
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    from django.contrib.auth.models import User

    User.objects.create_user(USER, password=password)
    made: Callable[..., Any] = get_wsgi_application()
    return made


def __getattr__(name: str) -> Any:
    """Django's routes, made when it asks for them: nothing of Django is imported before it is set up."""
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.contrib.auth.decorators import login_required
    from django.contrib.auth.views import LoginView
    from django.http import HttpResponse, HttpResponseNotFound, HttpResponseRedirect
    from django.urls import path, re_path

    def object_at(request: Any, name: str) -> Any:
        if name.startswith("away"):
            return HttpResponseRedirect(request.GET.get("to") or f"http://other.example/{name}")
        return (
            HttpResponse(ITEM.format(name=name) + str(request.META))
            if name in ("x1", "x2")
            else HttpResponseNotFound("no such item")
        )

    return [
        path("accounts/login/", LoginView.as_view()),
        path("home", login_required(lambda request: HttpResponse("Welcome. Log out"))),
        re_path(r"^ark:/?12148/(?P<name>.+)$", login_required(object_at)),
    ]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


def main(log: Path) -> None:
    serve = application(sys.stdin.readline().rstrip("\n"))

    def log_request(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        pairs = (each.partition("=") for each in environ.get("HTTP_COOKIE", "").split("; ") if each)
        told = {"method": environ["REQUEST_METHOD"], "path": environ["PATH_INFO"]}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(told | {"cookies": {name: value for name, _, value in pairs}}) + "\n")
        answer: Iterable[bytes] = serve(environ, start)
        return answer

    server = make_server("127.0.0.1", 0, log_request, server_class=_Server, handler_class=_Quiet)
    log.touch()
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.modules["tests.real.crawler.repository_server"] = sys.modules["__main__"]
    main(Path(sys.argv[1]))
