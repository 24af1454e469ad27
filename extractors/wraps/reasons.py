"""The reasons of decisions about mentions: a closed vocabulary, stored and published."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """The reason of the least certain decision about a mention."""

    meaning: str
    """The definition for the data dictionary; "it" is the ARK of the mention."""

    def __new__(cls, term: str, meaning: str = "") -> Self:
        """Return the reason with the stored value *term* and the definition *meaning*."""
        reason = str.__new__(cls, term)
        reason._value_, reason.meaning = term, meaning
        return reason

    COMPLETE = "complete", "no decision was needed: nothing in it or after it is doubtful"
    NO_EVIDENCE = "no-evidence", "nothing shows whether it continues after the line end"

    # Evidence.
    COMPLETE_ELSEWHERE = "complete-elsewhere", "the ARK occurs elsewhere in the documents without a line end in it"
    CHECK_CHARACTER = "check-character", "only this reading has a valid check character"
    CHECK_CHARACTER_FAILS = "check-character-fails", "its check character is wrong"
    NAME_SHAPE = "name-shape", "only this reading has the length and characters of similar names"
    QUALIFIER_WORD = "qualifier-word", "a known word of qualifiers is complete in this reading"
    LINK_TARGET = "link-target", "the target of its link is the same ARK"
    LINK_TARGET_LONGER = "link-target-longer", "the target of its link begins with this ARK and continues"
    COMPLETED_BY_LINK = "completed-by-link", "the text stops within a word, and the target of its link has the rest"

    VISITOR_REQUEST = "visitor-request", "a visitor of the site requested it"
    READING_WORKS = "reading-works", "of its readings, this one works at its resolver"
    READING_WORKED = "reading-worked", "this reading worked in an earlier run, and none works now"

    # It ends.
    ENDS_BEFORE_OTHER_TEXT = "ends-before-other-text", "the next line begins with a character that is not of an ARK"
    ENDS_BEFORE_IDENTIFIER = "ends-before-identifier", "another identifier or URL begins on the next line"
    ENDS_BEFORE_WORD = "ends-before-word", "a word follows"
    ENDS_BEFORE_NUMBER = "ends-before-number", "a number follows, such as a year"
    ENDS_BEFORE_PATH = "ends-before-path", "the path of a file follows"
    ENDS_BEFORE_LINE_NUMBER = "ends-before-line-number", "the number that follows continues the numbers of the lines"
    ENDS_AT_SPACE = "ends-at-space", "a space follows"
    ENDS_AT_DELIMITER = "ends-at-delimiter", "its line ends with punctuation, and a word or a number follows"
    ENDS_IN_SHORT_LINE = "ends-in-short-line", "the next text would have fitted in its line"
    ENDS_AT_PAGE_END = "ends-at-page-end", "the text of its page ends with it"
    ENDS_AT_READ_LIMIT = "ends-at-read-limit", "the part of the document that was read ends with it"
    ENDS_AT_UNIT_END = "ends-at-unit-end", "its cell, box or paragraph ends with it, and the next may have the rest"
    NO_NAME_BEFORE_WORD = "no-name-before-word", "a word follows a NAAN without a name"

    # It continues.
    NO_NAME_YET = "no-name-yet", "the line ends before its name"
    HYPHEN_AT_LINE_END = "hyphen-at-line-end", "its line ends with a hyphen, or with a sign that continues it"
    DELIMITER_AT_LINE_END = "delimiter-at-line-end", "its line ends with a delimiter of ARKs"
    DELIMITER_AT_LINE_START = "delimiter-at-line-start", "the next line begins with a delimiter of ARKs"
    LETTERS_AND_DIGITS_FOLLOW = "letters-and-digits-follow", "the next line begins with letters mixed with digits"
    CONSONANTS_FOLLOW = "consonants-follow", "letters that are no word follow a full line"
    NUMBER_FOLLOWS = "number-follows", "a number follows a full line, or a name without a digit"
    IN_BRACKETS = "in-brackets", "brackets or quotation marks around it show where it ends"
    LINE_END_IN_LINK_TARGET = "line-end-in-link-target", "a line end in a link target separates nothing"
    CONTINUES_ON_NEXT_PAGE = "continues-on-next-page", "it continues on the next page"

    # The text around it is ambiguous.
    SPACE_IN_NAME = "space-in-name", "a space in its name, or between it and its NAAN, was removed"
    LINE_END_IN_RESOLVER = (
        "line-end-in-resolver",
        "a line ends in its resolver, and the host or path may be another one",
    )
    SPACE_IN_HOST = "space-in-host", "a space in the host of its resolver was removed"
    SPACE_AFTER_LABEL = "space-after-label", "a space is between its label and its NAAN"
    GAPS_ON_PAGE = "gaps-on-page", "gaps on the page, or ends of elements, are in it or after it"
    STRING_LITERALS = "string-literals", "it may continue in the next string or a variable of a program"
    DASH_FOR_HYPHEN = "dash-for-hyphen", "a dash in it is read as a hyphen"
    HYPHENS_FOR_DASH = "hyphens-for-dash", "two hyphens in it may be a dash of the sentence"
    NUMBER_AFTER_COLON = "number-after-colon", "a number after a colon in it may be a page or a line"
    HYPHEN_AT_END = "hyphen-at-end", "a hyphen and a space follow it"
    ATTACHED_WORD_REMOVED = "attached-word-removed", "a word or the number of a footnote was written directly after it"
    ATTACHED_WORD_KEPT = "attached-word-kept", "its end may be a word of the text or the number of a footnote"
    MARKUP_AT_END = "markup-at-end", "its last character may be markup"
    QUESTION_MARKS_IN_PROSE = "question-marks-in-prose", "two question marks after it may belong to the sentence"
    RIGHT_TO_LEFT_LINE_END = "right-to-left-line-end", "a line ends in text from right to left"
    RIGHT_TO_LEFT_PAGE = "right-to-left-page", "its page has text from right to left"
    RECOGNIZED_TEXT = "recognized-text", "its text was recognized from a picture"
    FILE_NAME = "file-name", "it was written as the name of a file or folder"
    UNUSUAL_NAAN = "unusual-naan", "its NAAN has not five digits"
    SHORT_NAME = "short-name", "its name is short or the path of a port, and no resolver shows that an ARK is meant"
    INCOMPLETE_NAME = (
        "incomplete-name",
        "its name is a UUID, or one of FamilySearch or INIST, without all its characters",
    )
    LETTER_FOR_ZERO = (
        "letter-for-zero",
        "a letter in its name may be a zero, which its check character can't tell apart",
    )
    ALL_CAPITALS = "all-capitals", "all letters are capitals, and names are case-sensitive"
