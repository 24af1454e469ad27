"""A resolver that we did not write: Internet Archive's arklet, as it is, on SQLite.

Its migrations hold SQL of another database, so its tables are made without them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arkaudit.demo.resolvers import ARKLET_NAMES

ARKLET_HOST = "ark.archive.org"
_NAAN = 13960


def arklet_application(database: Path) -> Callable[..., Any]:
    """arklet's WSGI application over a new *database*, with the demo's ARKs bound to their landing pages."""
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
    if settings.configured:  # by another loopback web of this process: Django is set up once
        connections.settings["default"]["NAME"] = str(database)
        del connections["default"]
    else:
        settings.configure(**{**own, **ours})
        django.setup()
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # a 404 is what the demo wants to see
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
