"""Cookies live within one chain of requests: some hosts lead in circles who doesn't bring them back, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http.cookies import CookieJar

from crawler.model.scope import is_public_suffix

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

#: Octets of the Set-Cookie headers of an answer; no browser keeps so many.
_MOST_OCTETS = 2**16


class ChainCookies:
    """Keeps the cookies of a chain in ``meta["jar"]``, where they are gone with it.

    Scrapy's own middleware keeps every jar until the end, and fetches the list of public suffixes past our handler.
    """

    def process_request(self, request: Request) -> None:
        jar: CookieJar | None = request.meta.get("jar")
        if jar is not None:
            jar.add_cookie_header(request)

    def process_response(self, request: Request, response: Response) -> Response:
        given = response.headers.getlist("Set-Cookie")
        if given and not request.meta.get("dont_merge_cookies") and sum(map(len, given)) <= _MOST_OCTETS:
            jar: CookieJar = request.meta.setdefault("jar", CookieJar())
            for cookie in jar.make_cookies(response, request):
                if not is_public_suffix(cookie.domain):
                    jar.set_cookie_if_ok(cookie, request)
        return response
