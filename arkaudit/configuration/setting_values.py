"""Types of settings: validation and conversion of single values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Annotated, Any

import regex
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo
from pydantic import StrictBool as StrictBool

from arkaudit.configuration.nearest_words import suggest_nearest
from arkaudit.configuration.schedule import Schedule, time_zone
from crawler.model.addresses import AddressGuard, Routes
from crawler.model.resolving import url_fault
from crawler.sources.gate import LinkPatterns
from crawler.spiders.seeds import relative_to
from crawler.wire.credentials import cookies_for, names_user
from extractors.model.naan import naan_and_name
from extractors.model.normalize import NotAnArk
from extractors.model.urls import Origin, is_web_url, split_url
from reports.languages import WORDS as LANGUAGE_WORDS

_HOST = re.compile(r"(?:https?://)?(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that belong to the connection, or that other settings control.
_RESERVED_HEADERS = frozenset(
    {"connection", "content-length", "cookie", "host", "proxy-authorization", "transfer-encoding"}
)

#: The key of the validation context with the folder of the configuration file.
FOLDER = "folder"


def checked_by(check: Callable[[Any], object]) -> AfterValidator:
    """Return a validator that returns its value unchanged, unless *check* raises ValueError for it."""

    def check_value(value: Any) -> Any:
        check(value)
        return value

    return AfterValidator(check_value)


def _in_folder(path: Any, info: ValidationInfo) -> Any:
    """Return a path in the configuration file relative to the folder of this file; other values unchanged."""
    folder = (info.context or {}).get(FOLDER)
    return folder / path if folder is not None and isinstance(path, str) else path


def _seeds_in_folder(seeds: list[str], info: ValidationInfo) -> list[str]:
    folder = (info.context or {}).get(FOLDER)
    return seeds if folder is None else [relative_to(folder, seed) for seed in seeds]


def resolver_url(text: str, kind: str = "a resolver") -> str:
    """Return *text* if it can be the URL of a resolver. Raises ValueError, whose message names it as *kind*."""
    parts = split_url(text)
    is_base_url = bool(parts.hostname) and parts.port != 0 and not set(text) & set("?#")
    if names_user(text):
        raise ValueError("credentials in a URL are never sent; put them into a [hosts] section")
    if not is_base_url or parts.scheme not in ("http", "https"):
        raise ValueError(f"{text!r} is not the http or https URL of {kind}")
    return text


def http_page(text: str) -> str:
    """Return *text* if it is the http(s) URL of a page without a user name. Raises ValueError."""
    if names_user(text):
        raise ValueError("credentials in a URL are never sent")
    fault = url_fault(text) if is_web_url(text) else "not the http or https URL of a page"
    if fault:
        raise ValueError(f"{fault}: {text!r}")
    return text


def _check_service_url(text: str) -> None:
    if not Template(text).is_valid() or "://" not in text:
        raise ValueError(f"{text!r} is not an Apprise URL (with $NAME for an environment variable)")
    with_extra(text, "apprise", "apprise", "notify")


def printable(text: str) -> str:
    """Return *text* if it can be the value of a header: printable ASCII. Raises ValueError."""
    if not text.isprintable() or not text.isascii():
        raise ValueError("must be printable ASCII: it is sent as a header")
    return text


def _check_contact(text: str) -> None:
    if not re.search(r"[^\s@]@[^\s@]|https?://[^\s/]", text):
        raise ValueError(f"{text!r} holds no e-mail address and no http(s) URL")


def _check_pattern(text: str) -> None:
    try:
        LinkPatterns([text])
    except (regex.error, RecursionError) as fault:
        raise ValueError(f"{text!r} is not a regular expression ({fault})") from None


def _seconds(value: object) -> object:
    """Return a duration in seconds from a text with a unit; other values unchanged. Raises ValueError.

    >>> _seconds("90m"), _seconds("2h"), _seconds(30)
    (5400.0, 7200.0, 30)
    """
    if not isinstance(value, str):
        return value
    duration = _DURATION.fullmatch(value)
    if duration is None:
        raise ValueError(f"{value!r} is neither seconds nor a duration such as 90m or 2h")
    return float(duration["number"]) * _UNITS[duration["unit"] or "s"]


_DURATION = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(?P<unit>[smhd]?)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _normal_naan(text: str) -> str:
    """Return the normal form of a NAAN. Raises ValueError for any other text."""
    with suppress(NotAnArk):
        naan, name = naan_and_name(text)
        if naan == text.lower() and not name:
            return naan
    raise ValueError(f"{text!r} is not a NAAN")


def _check_language(word: str) -> None:
    if word not in LANGUAGE_WORDS:
        all_choices = f"; choose from {', '.join(LANGUAGE_WORDS)}"
        suggestion = suggest_nearest(word, LANGUAGE_WORDS) or all_choices
        raise ValueError(f"there is no language {word!r}{suggestion}")


def with_extra(value: Any, module: str, package: str, extra: str) -> Any:
    """Return *value*. Raises ValueError if it is true but *module* is missing: *package*, of this *extra* of arkaudit."""
    if value and find_spec(module) is None:
        raise ValueError(f"needs {package}: pip install 'arkaudit[{extra}]'")
    return value


def _secret_value(value: Any) -> Any:
    """Return *value*, or for ``{"env": "TOKEN"}`` the value of this environment variable. Raises ValueError."""
    if not isinstance(value, dict):
        return value
    name = value.get("env")
    if len(value) != 1 or not isinstance(name, str):
        raise ValueError('must be a text or { env = "NAME" }')
    if name not in os.environ:
        raise ValueError(f"the environment variable {name} is not set")
    return os.environ[name]


def _check_secret(secret: SecretStr) -> None:
    value = secret.get_secret_value()
    if not value or value.strip() != value or not value.isprintable() or not value.isascii():
        raise ValueError("a header must be printable ASCII without spaces at either end")


def _check_header_names(headers: dict[str, Any]) -> None:
    for name in headers:
        if not _TOKEN.fullmatch(name) or name.lower() in _RESERVED_HEADERS:
            raise ValueError(f"{name!r} is not a header that can be set")


def _check_cookie_names(cookies: dict[str, Any]) -> None:
    for name, value in cookies.items():
        if not _TOKEN.fullmatch(name) or set(value.get_secret_value()) & set(' ";,\\'):
            raise ValueError(f"{name!r} is not a valid cookie")


def validated_hosts(hosts: dict[str, Any]) -> dict[str, Any]:
    for name in hosts:
        if not _HOST.fullmatch(name):
            raise ValueError(f"{name!r} is not a host: give a name, with port or scheme if needed")
        own_cookies(name, hosts[name].cookies)
    return {name.lower(): settings for name, settings in hosts.items()}


def own_cookies(host: str, cookies: Mapping[str, SecretStr] | Path) -> dict[str, str]:
    """Return the cookies for a host in plain text, by name. Raises ValueError for a file without a valid cookie."""
    return cookies_for(Origin.from_name(host), cookies) if isinstance(cookies, Path) else plain_values(cookies)


def plain_values(values: Mapping[str, SecretStr]) -> dict[str, str]:
    """Return the values with secrets in plain text."""
    return {name: value.get_secret_value() for name, value in values.items()}


#: A path; in the configuration file it is relative to the folder of this file.
FilePath = Annotated[Path, BeforeValidator(_in_folder)]
#: Seeds of a crawl; paths among them are relative, too.
SeedTexts = Annotated[list[str], AfterValidator(_seeds_in_folder)]
Header = Annotated[str, AfterValidator(printable)]
#: A header with an e-mail address or URL.
Contact = Annotated[Header, checked_by(_check_contact)]
#: A regular expression over links.
Pattern = Annotated[str, checked_by(_check_pattern)]
#: A secret, which pydantic prints as asterisks.
Secret = Annotated[SecretStr, BeforeValidator(_secret_value), checked_by(_check_secret)]
Headers = Annotated[dict[str, Secret], checked_by(_check_header_names)]
Cookies = Annotated[dict[str, Secret], checked_by(_check_cookie_names)]
Days = Annotated[float, Field(ge=0, le=3650)]
#: The URL of a resolver, to which ARKs are appended.
ResolverUrl = Annotated[str, AfterValidator(resolver_url)]
TimeGateUrl = Annotated[str, AfterValidator(lambda text: resolver_url(text, "a TimeGate"))]
PageUrl = Annotated[str, AfterValidator(http_page)]
RouteTexts = Annotated[list[str], checked_by(Routes.parse)]
AddressTexts = Annotated[list[str], checked_by(AddressGuard.for_networks)]
#: The Apprise URL of a notification service.
ServiceUrl = Annotated[str, checked_by(_check_service_url)]
#: Seconds, as a number or with a unit.
Seconds = Annotated[float, BeforeValidator(_seconds)]
CronExpression = Annotated[
    str, checked_by(lambda text: Schedule.parse(with_extra(text, "cronsim", "cronsim", "schedule")))
]
ZoneName = Annotated[str, checked_by(time_zone)]
NaanText = Annotated[str, AfterValidator(_normal_naan)]
#: A NAAN, or the beginning of ARKs.
LanguageCode = Annotated[str, checked_by(_check_language)]
#: A switch for what needs an extra.
NamesLookedUp = Annotated[bool, AfterValidator(lambda is_on: with_extra(is_on, "dns", "dnspython", "dns"))]
