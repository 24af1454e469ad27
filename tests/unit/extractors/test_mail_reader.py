"""Mail as mail programs write it: made by the standard library, and by hand where programs are worse."""

import quopri
from email.message import EmailMessage

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extractors.extraction import extraction_of
from extractors.model.documents import Reading
from extractors.model.formats import Format, format_of
from extractors.readers.mail import read_mail
from tests.growth import LINEAR, seconds

LONG = "https://gallica.bnf.fr/ark:/12148/bpt6k107371t/f29.item"

HEAD = b"From: Ada <ada@example.org>\nTo: b@example.org\nDate: Sun, 22 Nov 2026 10:00:00 +0000\n"


def message(subject: str = "A map") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Ada <ada@example.org>", "bo@example.org", subject
    made["Message-ID"], made["Date"] = "<1@example.org>", "Sun, 22 Nov 2026 10:00:00 +0000"
    return made


def mentions_in(data: bytes) -> list[tuple[str, str, str]]:
    read = extraction_of(data, name="a.eml")
    assert {finding.kind for finding in read.findings} <= {"unlinked-ark"}
    return [(str(mention.ark), mention.role.value, mention.place) for mention in read.mentions]


@pytest.mark.parametrize("encoding", ["quoted-printable", "base64", "7bit"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_transfer_encoding_is_undone(encoding: str, end: str) -> None:
    made = message()
    made.set_content(f"{'The scan is there, ' * 3}{LONG} as you know.\n", cte=encoding)
    data = made.as_bytes(policy=made.policy.clone(linesep=end, max_line_length=0 if encoding == "7bit" else 78))
    if encoding == "quoted-printable":
        assert LONG.encode() not in data
    assert mentions_in(data) == [("ark:12148/bpt6k107371t/f29.item", "text", "")]


@pytest.mark.parametrize(
    "field",
    [
        "Content-Type: text/plain;1*",
        "Content-Type: text/plain; format=flowed;1*",
        "Content-Type: text/plain; charset*=\0''x",
        "Content-Disposition: attachment;1*",
        "Content-Disposition: attachment; filename*=\0''x",
        "Content-Type: multipart/alternative",
        "Content-Type: multipart/alternative; boundary=missing",
    ],
)
def test_malformed_field_hides_no_ark(field: str) -> None:
    data = HEAD + field.encode() + b"\n\nsee ark:/12148/btv1b8\n"
    assert [mention[0] for mention in mentions_in(data)] == ["ark:12148/btv1b8"]


@given(st.integers(0, 70))
def test_soft_line_break_cuts_no_ark(before: int) -> None:
    body = quopri.encodestring(f"{'x' * before} {LONG} é".encode())
    head = (
        b"MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
    )
    [mention] = extraction_of(HEAD + head + body, name="a.eml").mentions
    assert (str(mention.ark), mention.repairs, mention.confidence.token) == (
        "ark:12148/bpt6k107371t/f29.item", (), "certain",
    )  # fmt: skip


def test_fields_parts_and_attachments_have_their_places() -> None:
    made = message("About ark:/12148/btv1b8449691v, é")
    made.set_content("nothing here")
    made.add_alternative(f"<p>See <a href='{LONG}'>{LONG}</a>.", subtype="html")
    made.add_attachment(b"id,ark\n1,ark:/12345/x5\n", maintype="text", subtype="csv", filename="liste.csv")
    inner = message("ark:/12345/x6")
    inner.set_content("see ark:/12345/x7")
    made.add_attachment(inner)
    assert mentions_in(made.as_bytes()) == [
        ("ark:12148/btv1b8449691v", "metadata", "subject"),
        ("ark:12148/bpt6k107371t/f29.item", "link-target", "a/@href"),
        ("ark:12148/bpt6k107371t/f29.item", "text", "p"),
        ("ark:12345/x5", "structured-data", "attachment:liste.csv/row:2/column:ark"),
        ("ark:12345/x6", "metadata", "message/subject"),
        ("ark:12345/x7", "text", "message"),
    ]


def test_links_of_different_parts_are_different_links() -> None:
    made = message()
    made.set_content("<a href='https://n2t.net/ark:/12345/x5'>https://n2t.net/ark:/12345/x5</a>", subtype="html")
    made.add_attachment(
        b"<a href='https://n2t.net/ark:/12345/x6'>https://n2t.net/ark:/12345/x6</a>",
        maintype="text", subtype="html", filename="b.html",
    )  # fmt: skip
    read = extraction_of(made.as_bytes(), name="a.eml")
    assert [(str(each.ark), each.citation) for each in read.mentions] == [
        ("ark:12345/x5", 1), ("ark:12345/x5", 1), ("ark:12345/x6", 2), ("ark:12345/x6", 2),
    ]  # fmt: skip
    assert read.findings == ()


def test_of_several_forms_of_a_text_one_counts() -> None:
    made = message()
    made.set_content(f"see {LONG}")
    made.add_alternative("<p>This mail can't be shown.", subtype="html")
    assert [ark for ark, _, _ in mentions_in(made.as_bytes())] == ["ark:12148/bpt6k107371t/f29.item"]
    made = message()
    made.set_content(f"see {LONG}")
    made.add_alternative(f"<p>see {LONG}", subtype="html")
    assert [place for _, _, place in mentions_in(made.as_bytes())] == ["p"]
    made.add_alternative("BEGIN:VCALENDAR\nEND:VCALENDAR\n", subtype="calendar")  # as in an invitation
    assert [place for _, _, place in mentions_in(made.as_bytes())] == ["p"]


@pytest.mark.parametrize(
    ("delsp", "cut"),
    [
        ("", "see \nark:/12345/x5"),
        ("; delsp=yes", "see  \nark:/12345/x \n5"),
        ("; delsp=yes", "> see ark:/12345/x \n> 5"),
    ],
)
def test_flowed_lines_go_on(delsp: str, cut: str) -> None:
    data = HEAD + f"Content-Type: text/plain; format=flowed{delsp}\n\n{cut}\n-- \nAda\n".encode()
    assert mentions_in(data) == [("ark:12345/x5", "text", "")]


def test_a_saved_page_is_mail_too() -> None:
    data = (
        b"From: <Saved by Blink>\nSnapshot-Content-Location: https://a.example/\nSubject: A page\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/related; type="text/html"; boundary="--x"\n\n----x\nContent-Type: text/html\n'
        b'Content-Transfer-Encoding: quoted-printable\n\n<a href=3D"https://n2t.net/ark:/12148/bpt6k1=\n07371t">x</a>\n'
        b"----x\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n----x--\n"
    )
    read = extraction_of(data, name="page.mhtml")
    assert [str(mention.ark) for mention in read.mentions] == ["ark:12148/bpt6k107371t"]


@pytest.mark.parametrize(
    ("start", "is_mail"),
    [
        ("Received: from x\n\tby y\nFrom: a@b.example\nSubject: x\n\nark:/12345/x5", True),
        ("From ada@x Sun Nov 22 10:00:00 2026\nFrom: a\nTo: b\nDate: c\n\nx", True),
        ("Title: x\nDate: 2026\nSubject: maps\nIdentifier: ark:/12345/x5\n\ntext", False),
        ("From: the archive\nwe learn that ark:/12345/x5", False),
        ("From the archive ark:/12345/x5 at 10:00\n", False),
    ],
)
def test_mail_is_recognized_by_content(start: str, is_mail: bool) -> None:
    assert (format_of(start.encode()) is Format.MAIL) is is_mail


@given(st.binary(max_size=300), st.sampled_from([HEAD, b"From a Sun Nov 22 10:00:00 2026\n" + HEAD]))
def test_any_mail_is_read(data: bytes, head: bytes) -> None:
    content_type = b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n"
    assume(b"%PDF-" not in data and min(data, default=32) >= 32)  # which make a file of it, and no mail
    for more in (b"", content_type):
        read = extraction_of(head + more + b"Subject: ark:/12345/x5\n" + data, name="a.eml")
        assert "unreadable" not in {finding.kind for finding in read.findings}
        assert "ark:12345/x5" in {str(mention.ark)[:12] for mention in read.mentions}


@pytest.mark.slow
@pytest.mark.parametrize(
    "field",
    [
        b'Content-Type: text/plain; a="' + b";" * 64_000,
        b"Content-Type: text/plain; " + b"".join(b"a*%d=x;" % number for number in range(9_000)),
        b"Content-Type: text/plain; " + b"a*0=;" * 13_000,
        b"Subject: " + b"=?utf-8?q?a" * 24_000,
        b"To: " + b"(" * 64_000,
    ],
    ids=["semicolons", "continuations", "repeated continuations", "encoded words", "comments"],
)
def test_long_field_is_cut_before_it_is_parsed(field: bytes) -> None:
    mail = field + b"\nX-Ark: ark:/12345/x4\n\nsee ark:/12345/x5 there"
    extraction = extraction_of(mail, media_type="message/rfc822")
    assert [str(mention.ark) for mention in extraction.mentions] == ["ark:12345/x4", "ark:12345/x5"]
    assert extraction.findings == ()
    assert seconds(lambda: extraction_of(mail, media_type="message/rfc822"), 3) < 1


def test_ark_in_the_rest_of_a_long_field_is_reported() -> None:
    mail = b"X-Ark: " + b"a" * 5000 + b" ark:/12345/x4\n\nsee ark:/12345/x5 there"
    extraction = extraction_of(mail, media_type="message/rfc822")
    assert [str(mention.ark) for mention in extraction.mentions] == ["ark:12345/x5"]
    assert [finding.kind for finding in extraction.findings] == ["cut-off"]


def test_parameters_that_contradict_one_another_cost_only_themselves() -> None:
    mail = b'Content-Type: multipart/mixed; a*=x; a*0=y; boundary="b"\n\n--b\n\nsee ark:/12345/x5 there\n--b--\n'
    assert [str(mention.ark) for mention in extraction_of(mail, media_type="message/rfc822").mentions] == [
        "ark:12345/x5"
    ]


def test_text_around_mime_parts_is_read():
    message = (
        b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\nFor programs without MIME: ark:/12345/x5.\n"
        b"--b\nContent-Type: text/plain\n\nSee ark:/12345/x6.\n--b--\nAnd ark:/12345/x7 at the end.\n"
    )
    found = [(str(mention.ark), mention.place) for mention in extraction_of(message, name="a.eml").mentions]
    assert found == [("ark:12345/x5", "preamble"), ("ark:12345/x7", "epilogue"), ("ark:12345/x6", "")]


@pytest.mark.parametrize("depth", [40, 2_000])
def test_parts_within_very_many_others_cost_only_themselves(depth: int) -> None:
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\nark:/12345/x%d\n--b%d\n" % (level, level, level)
        for level in range(depth)
    )
    read = extraction_of(HEAD + nested + b"\n" + b"text\n" * 1000, name="a.eml")
    assert {str(mention.ark) for mention in read.mentions} == {f"ark:12345/x{level}" for level in range(11)}
    assert [finding.kind for finding in read.findings] == ["cut-off"]


def test_mail_of_very_many_parts_is_parsed_as_far_as_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extractors.readers.mail.MOST_PARTS", 1_000)
    head = b"Content-Type: multipart/mixed; boundary=b\n\n"

    def read(parts: int) -> Reading:
        return read_mail(head + b"--b\n\nx\n" * parts, lambda *_, **__: Reading("text/plain"))

    few, many = seconds(lambda: read(1_100), 3), seconds(lambda: read(3_300), 3)
    assert many < LINEAR * few
