"""`Config`: all settings of a run, validated, and what follows from them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar
from urllib.request import getproxies

from arkaudit import __version__
from arkaudit.configuration.setting_values import own_cookies, plain_values
from arkaudit.configuration.settings import TABLE, RecheckDays, Settings
from arkaudit.configuration.settings import Section as Section
from arkaudit.hooks import Channel, merge, plugins
from crawler.history.ark_status import StatusPolicy
from crawler.history.rechecking import Intervals, RecheckPolicy
from crawler.model.addresses import AddressGuard, Routes
from crawler.politeness.pacing import Allowance, Allowances, is_own
from crawler.wire.credentials import Credential, Credentials, proxy_credential
from extractors.model.urls import Origin
from reports.languages import LanguageChoice
from reports.store.known_problems import KnownProblems, read_known

PluginSection = TypeVar("PluginSection", bound=Section)


class Config(Settings):
    """All settings of a run. `config_files.load` reads it."""

    @property
    def sections(self) -> list[Section]:
        """The sections, those of plug-ins included."""
        return [value for value in vars(self).values() if isinstance(value, Section)]

    def check(self) -> None:
        """Raise `UserMistake` if a file, program or variable that the sections need in a run is missing."""
        for section in self.sections:
            section.check()

    def variables(self) -> Iterator[str]:
        """Yield the names of environment variables with secrets that the sections need."""
        for section in self.sections:
            yield from section.variables()

    def channels(self) -> Iterator[Channel]:
        """Yield the destinations of news that plug-ins add. Raises `UserMistake`."""
        for section in self.sections:
            yield from section.channels()

    @cached_property
    def known_list(self) -> KnownProblems:
        """The list of known problems. Raises `UserMistake` if it can't be read."""
        return read_known(self.known.file)

    @property
    def language_choice(self) -> LanguageChoice:
        """The language of a report."""
        return LanguageChoice.parse(self.report.lang)

    @property
    def recheck_policy(self) -> RecheckPolicy:
        """The intervals between checks, by state, NAAN and host."""
        days_by_naan = {name: _given_days(days) for name, days in self.recheck.naan.items()}
        days_by_host = {name: _given_days(days) for name, days in self.recheck.host.items()}
        return RecheckPolicy(Intervals(**_given_days(self.recheck)), days_by_naan, days_by_host)

    @property
    def status_policy(self) -> StatusPolicy:
        """The numbers of failures and days that confirm a failure."""
        return StatusPolicy(strikes=self.recheck.strikes, days=self.recheck.strike_days)

    @property
    def check_characters(self) -> dict[str, bool]:
        """For each NAAN in the configuration, True if all its names end with a check character, False if none does."""
        return {naan: names.check_character for naan, names in self.naans.items()}

    @property
    def user_agent(self) -> str:
        """The User-Agent header."""
        if self.politeness.user_agent:
            return self.politeness.user_agent
        contact = self.politeness.contact
        return f"arkaudit/{__version__}" + (f" ({'+' if '://' in contact else ''}{contact})" if contact else "")

    @property
    def credentials(self) -> Credentials:
        """Headers and cookies for the operator's own hosts."""
        return Credentials(
            {
                Origin.from_name(name): Credential(plain_values(host.headers), own_cookies(name, host.cookies))
                for name, host in self.hosts.items()
                if host.headers or host.cookies
            }
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secrets to redact: of the operator's own hosts, of proxies, and of notification services."""
        proxies = [secret for url in getproxies().values() for secret in proxy_credential(url).secrets]
        services = [os.environ[name] for name in self.variables() if os.environ.get(name)]
        return (*self.credentials.secrets, *proxies, *services)

    @property
    def is_anonymous(self) -> bool:
        """True if requests name no contact."""
        return not (self.politeness.contact or self.politeness.user_agent)

    def allowance(self, host: str) -> Allowance:
        """Return the configured rate for *host* (scheme, name and port), which the host may lower later."""
        return self._allowances.for_host(host, is_own=self.owns(host))

    @property
    def _allowances(self) -> Allowances:
        hosts = {name: Allowance(host.interval, host.concurrency) for name, host in self.hosts.items()}
        return Allowances(self.politeness.delay, hosts)

    def owns(self, host: str) -> bool:
        """Return True if *host* is the operator's own: under ``hosts``, routed, or an allowed private address."""
        routes = Routes.parse(self.network.connect_to, only=self.network.only_routed)
        guard = AddressGuard.for_networks(self.network.allow_addresses)
        return self._allowances.find_by_name(host) is not None or is_own(host, routes, guard)

    def section(self, section_type: type[PluginSection]) -> PluginSection | None:
        """Return the section of this type, which a plug-in declares by the hook `settings`; None if it is absent."""
        return next((section for section in self.sections if isinstance(section, section_type)), None)

    def settings(self) -> dict[str, Any]:
        """Return the Scrapy settings for this configuration, those of plug-ins included."""
        return {
            "USER_AGENT": self.user_agent,
            "ROBOTSTXT_USER_AGENT": "arkaudit",
            "ARKAUDIT_HOSTS": {
                name: host.model_dump(include={"interval", "concurrency"}) for name, host in self.hosts.items()
            },
            # A proxy looks names up itself, and would be reached instead of the routes.
            "HTTPPROXY_ENABLED": not self.network.only_routed,
            "ARKAUDIT_CREDENTIALS": self.credentials,
            **{setting.scrapy: attrgetter(name)(self) for name, setting in TABLE.items() if setting.scrapy},
            **merge(plugins().hook.scrapy_settings(config=self), "the Scrapy setting"),
        }


def _given_days(days: RecheckDays) -> dict[str, float]:
    values = ((name, getattr(days, name)) for name in RecheckDays.__annotations__)
    return {name: value for name, value in values if value is not None}
