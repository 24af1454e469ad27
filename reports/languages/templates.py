"""Templates of texts and pages: whole sentences in a language, with values in their places."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from reports.languages import VOCABULARY
from reports.languages.display import code, escape_invisible, escape_markdown, heading, link

if TYPE_CHECKING:
    from jinja2 import Environment, Template

    from reports.languages import Language


@cache
def _environment(package: str) -> Environment:
    """Return Jinja's environment for the templates of a *package*."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        # A page of another package can include parts of the report page.
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("reports.page")]),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = {"code": code, "heading": heading, "link": link, "plain": escape_markdown, "shown": escape_invisible}
    environment.filters |= filters
    environment.globals["vocabulary"] = VOCABULARY
    return environment


def template(name: str, package: str) -> Template:
    """Return the template *name* of a *package*; a missing value is an error, and pages escape all values."""
    return _environment(package).get_template(name)


def words_of(language: Language) -> dict[str, Any]:
    """Return the functions of a template for translations, such as ``gettext``, by name."""
    names = ("gettext", "ngettext", "pgettext", "npgettext")
    return {"language": language, **{name: getattr(language, name) for name in names}}


def macros(name: str, package: str, language: Language, **values: Any) -> Any:
    """Return the macros of the template *name* as functions, in a language; all can use *values*."""
    return template(name, package).make_module(words_of(language) | values)
