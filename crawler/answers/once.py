"""A property that is read once: the functools one takes a lock for each object in Python 3.11, and facts are many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  (it stands where `property` does)
    """Like `functools.cached_property`, for objects that one thread reads."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self.read = read
        self.__doc__ = read.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | Self:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self.read(instance)
        return value
