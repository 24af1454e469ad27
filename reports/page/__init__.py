"""A report as one self-contained page: no network, no other file, and text from the web always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


def template(name: str, package: str = "reports.page") -> Template:
    """Return the template *name* of a *package*: values are escaped, and a missing value is an error.

    It can include the templates of the report page.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    from reports.languages.display import escape_invisible, heading

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__name__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"heading": heading, "shown": escape_invisible}
    return environment.get_template(name)
