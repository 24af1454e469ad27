"""arklet's own settings, with SQLite in place of its database."""

import os

from arklet.entrypoints.settings import *  # noqa: F403

DEBUG = False
ALLOWED_HOSTS = ["ark.archive.org"]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("ARKAUDIT_DEMO_DATABASE", ":memory:")},
}
MIGRATION_MODULES = {"ark": None}
