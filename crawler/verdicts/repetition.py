"""Pure: is the answer to an inflection the object's own again, and where was the inflection lost?"""

from __future__ import annotations

from crawler.answers.answer import is_textual
from crawler.answers.likeness import likeness, same_answer, same_beginning, same_page
from crawler.observations import Observation

#: A page at the object's own place is the object's when so much of its text is.
MOSTLY_THE_SAME = 0.9


def lost_at(answer: Observation, asked: str) -> str | None:
    """The URL of the hop whose redirect forgot the inflection, if one did."""
    for hop, following in zip(answer.hops, answer.hops[1:], strict=False):
        if hop.url.endswith(asked) and asked.strip("?") not in following.url.partition("?")[2]:
            return hop.url
        if asked in ("?", "??") and hop.url.endswith(asked) and "?" not in following.url:
            return hop.url
    return None


def is_object_again(answer: Observation, object_answer: Observation) -> bool:
    """The same body; or a text that is nearly the same; or no text, of the object's own type and at its place."""
    if answer.body_sha256 and answer.body_sha256 == object_answer.body_sha256:
        return True
    if answer.text and (answer.text, answer.title) == (object_answer.text, object_answer.title):
        return True
    is_at_its_place = is_at_place_of(answer, object_answer)
    if answer.text is None or object_answer.text is None:
        is_unread = not is_textual(answer.media_type) and answer.media_type == object_answer.media_type
        return is_unread and is_at_its_place
    without_query = (answer.asked_url, answer.asked_url.partition("?")[0])
    is_cut = not (answer.body_complete and object_answer.body_complete)
    if is_at_its_place and is_cut and same_beginning(answer, object_answer, *without_query):
        return True
    if is_at_its_place and _likewise(answer, object_answer):
        return True
    return bool(answer.text) and same_page(answer.text, object_answer.text, *without_query)


def is_at_place_of(answer: Observation, object_answer: Observation) -> bool:
    """Whether an answer stands where the object's does, queries apart."""
    return answer.final_url.partition("?")[0] == object_answer.final_url.partition("?")[0]


def _likewise(answer: Observation, object_answer: Observation) -> bool:
    """Whether two answers of one type at one place are one by text, or by the sketch of it where it is long."""
    if answer.media_type != object_answer.media_type:
        return False
    if same_answer(answer, object_answer) or same_page(answer.text, object_answer.text):
        return True
    sketches = (answer.similarity, object_answer.similarity)
    return None not in sketches and likeness(*map(str, sketches)) >= MOSTLY_THE_SAME
