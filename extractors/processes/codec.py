"""Convert values to JSON and back.

Results of processes that parse untrusted documents arrive in this form. Decoding builds values of the requested types
and runs no other code, whatever the data; a pickle would run code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Set
from functools import cache, partial
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")


def to_json(value: Any) -> bytes:
    """Return *value* as JSON, in UTF-8; lone surrogates, as in file names, are preserved.

    >>> from extractors.model.documents import Finding
    >>> to_json([Finding("empty", "it has no bytes")])
    b'[{"kind": "empty", "detail": "it has no bytes"}]'
    """
    return json.dumps(to_plain(value)).encode("ascii")


def to_plain(value: Any) -> Any:
    """Return *value* as dictionaries, lists, strings and numbers, from which `from_plain` builds it again."""
    return _converter().unstructure(value)


def from_json(data: bytes, kind: type[T]) -> T:
    """Return the value of type *kind* that `to_json` converted to *data*. Raises ValueError for other data.

    >>> from extractors.model.documents import Finding
    >>> from_json(b'[{"kind": "empty", "detail": ""}]', list[Finding])
    [Finding(kind='empty', detail='')]
    >>> from_json(b'[{"kind": "empty"}]', list[Finding])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    ValueError: no list[Finding]: 'detail'
    """
    try:
        plain_data = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no {kind}: {error}") from error
    return from_plain(plain_data, kind)


def from_plain(data: Any, kind: type[T]) -> T:
    """Return the value of type *kind* that `to_plain` converted to *data*. Raises ValueError for other data."""
    try:
        value: T = _converter().structure(data, kind)
        return value
    except Exception as error:  # cattrs passes on any exception of a constructor
        raise ValueError(f"no {kind}: {error}") from error


def result_type(function: Callable[..., Any]) -> Any:
    """Return the return type of *function*, by its signature or its attribute `returns`; `Any` if it has neither.

    >>> result_type(int), result_type(partial(to_json, 1)), result_type(len)
    (<class 'int'>, <class 'bytes'>, typing.Any)
    """
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type):
        return function
    if hasattr(function, "returns"):
        return function.returns
    try:
        return get_type_hints(function).get("return", Any)
    except TypeError:  # a built-in function
        return Any


@cache
def _converter() -> Any:
    """Return the converter between values with types and JSON."""
    from cattrs import Converter  # it takes as long as all else here, and small inputs need no process

    # JSON has no sets; a validation trace for each part of a bad value is not needed.
    converter = Converter(omit_if_default=True, detailed_validation=False, unstruct_collection_overrides={Set: list})
    # Bytes as text of the same code points: JSON has no bytes.
    converter.register_unstructure_hook(bytes, lambda value: value.decode("latin-1"))
    converter.register_structure_hook(bytes, lambda value, _: str(value).encode("latin-1"))
    return converter
