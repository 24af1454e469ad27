"""Remove secrets, by their exact values, from the text of hosts, proxies and libraries. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast
from urllib.parse import quote

T = TypeVar("T")

#: The replacement for a secret.
HIDDEN = "[secret]"
#: The smallest length of a secret; shorter words may occur in any page by chance.
LEAST_CHARS = 6


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes some secrets from bytes, text and records. Without secrets it is false, and changes nothing.

    >>> Redactor.for_secrets(["open-sesame"]).text("?token=open-sesame&page=2")
    '?token=[secret]&page=2'
    """

    words: tuple[str, ...] = ()

    @classmethod
    def for_secrets(cls, secrets: Iterable[str]) -> Redactor:
        """Return a redactor of *secrets*, also percent-encoded; those shorter than `LEAST_CHARS` are left out."""
        words = (word for secret in secrets for word in (secret, quote(secret, safe="", errors="replace")))
        long_words = dict.fromkeys(word for word in words if len(word) >= LEAST_CHARS)
        return cls(tuple(sorted(long_words, key=lambda word: (-len(word), word))))

    def __bool__(self) -> bool:
        return bool(self.words)

    def bytes(self, data: bytes) -> bytes:
        """Return *data* with each secret replaced."""
        for word in self.words:
            data = data.replace(word.encode("utf-8", "surrogatepass"), HIDDEN.encode())
        return data

    def text(self, text: str) -> str:
        """Return *text* with each secret replaced."""
        for word in self.words:
            text = text.replace(word, HIDDEN)
        return text

    def record(self, value: T, *, kept_fields: frozenset[str] = frozenset()) -> T:
        """Return a frozen record with all secrets replaced, except in its own *kept_fields* (names)."""
        return cast("T", self._redact(value, kept_fields)) if self.words else value

    def _redact(self, value: Any, kept_fields: frozenset[str] = frozenset()) -> Any:
        """Return *value* without secrets, in all its parts but *kept_fields*; the same object if it has none."""
        if type(value) is str:  # values of enumerations hold no secrets
            return self.text(value)
        if is_dataclass(value) and not isinstance(value, type):
            new_values = {}
            for field in fields(value):
                if field.init and field.name not in kept_fields:
                    old = getattr(value, field.name)
                    new = self._redact(old)
                    if new is not old and new != old:
                        new_values[field.name] = new
            return replace(value, **new_values) if new_values else value
        if isinstance(value, Mapping):
            return {self._redact(key): self._redact(item) for key, item in value.items()}
        if type(value) in (tuple, list):
            cleaned = [self._redact(item) for item in value]
            is_same = all(new is old for new, old in zip(cleaned, value, strict=True))
            return value if is_same else type(value)(cleaned)
        return value
