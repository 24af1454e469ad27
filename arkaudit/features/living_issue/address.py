"""The address of a repository on GitHub or GitLab whose issue reports failing ARKs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from extractors.model.errors import UserMistake
from extractors.model.urls import split_url

#: For each service: its API, the path of the API at a server of one's own, and the variables for API and token.
_SERVICES = {
    "github": ("https://api.github.com", "/api/v3", "GITHUB_API_URL", "GITHUB_TOKEN"),
    "gitlab": ("https://gitlab.com/api/v4", "/api/v4", "CI_API_V4_URL", "GITLAB_TOKEN"),
}
_NAME = r"(?!\.+(?:/|$))[\w.-]+"
_PATHS = {"github": re.compile(f"{_NAME}/{_NAME}", re.ASCII), "gitlab": re.compile(f"{_NAME}(?:/{_NAME})+", re.ASCII)}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _is_private(url: str) -> bool:
    """Return True if requests to *url* are encrypted, or stay on this machine."""
    parts = split_url(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


@dataclass(frozen=True, slots=True)
class IssueAddress:
    """A repository, written ``github:owner/repo``, or ``gitlab:https://git.example.org/group/project``."""

    service: str
    path: str
    origin: str = ""
    """Scheme and host of a self-hosted server; empty for github.com and gitlab.com."""

    @classmethod
    def parse(cls, text: str) -> IssueAddress:
        """Return the address in *text*, written as above. Raises ValueError.

        >>> IssueAddress.parse("gitlab:https://git.example.org/maps/old/arks").issues_url({})
        'https://git.example.org/api/v4/projects/maps%2Fold%2Farks/issues'
        """
        service, _, repository = text.partition(":")
        parts = split_url(repository)
        path = parts.path.strip("/")
        origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme else ""
        is_valid = service in _PATHS and _PATHS[service].fullmatch(path) and repository.rstrip("/").endswith(path)
        if not is_valid or "@" in parts.netloc or (origin and not parts.hostname):
            raise ValueError(f"{text!r} is neither github:OWNER/REPOSITORY nor gitlab:GROUP/PROJECT")
        if origin and not _is_private(repository):
            raise ValueError(f"{text!r} needs an https address: a token is sent there")
        return cls(service, path, "" if parts.hostname in ("github.com", "gitlab.com") else origin)

    @property
    def token_variable(self) -> str:
        """The name of the environment variable with the token."""
        return _SERVICES[self.service][3]

    def api_url(self, environment: Mapping[str, str] = os.environ) -> str:
        """Return the URL of the API, which *environment* may set. Raises `UserMistake` if it is not encrypted."""
        default_url, api_path, variable, _ = _SERVICES[self.service]
        api_url = f"{self.origin}{api_path}" if self.origin else (environment.get(variable) or default_url).rstrip("/")
        if not _is_private(api_url):
            raise UserMistake(f"{variable} needs an https address: a token is sent there")
        return api_url

    def issues_url(self, environment: Mapping[str, str] = os.environ) -> str:
        """Return the URL of the issues in the API, as `api_url`."""
        api_url = self.api_url(environment)
        if self.service == "github":
            return f"{api_url}/repos/{self.path}/issues"
        return f"{api_url}/projects/{quote(self.path, safe='')}/issues"

    def __str__(self) -> str:
        return f"{self.service}:{f'{self.origin}/' if self.origin else ''}{self.path}"
