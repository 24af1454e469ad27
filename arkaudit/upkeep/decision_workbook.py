"""Read the decisions that people made in the workbook of a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from arkaudit.configuration.nearest_words import suggest_nearest
from crawler.history.triage import TriageAction, TriageDecision, TriageTarget, target_of
from extractors.model.errors import UserMistake
from reports.formats.decision_sheet import HEADINGS, NEEDED, SHEET, SheetDecision

#: The largest workbook that is read.
_MOST_BYTES = 2**28


@dataclass(frozen=True, slots=True)
class SheetContent:
    """The decisions of a sheet, and remarks about its rows."""

    decisions: tuple[TriageDecision, ...]
    remarks: tuple[str, ...]


def read_decisions(path: Path, *, now: datetime) -> SheetContent:
    """Return the decisions in the workbook at *path*. Raises `UserMistake` with the first faulty row."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise UserMistake("reading a workbook needs openpyxl: pip install 'arkaudit[xlsx]'") from None
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserMistake(f"{path} can't be read: it has more than {_MOST_BYTES // 2**20} MiB")
        book = openpyxl.load_workbook(path, read_only=True)
        if SHEET not in book.sheetnames:
            raise UserMistake(f"{path} has no sheet {SHEET!r}; it has: {', '.join(book.sheetnames)}")
        lines = [list(line) for line in book[SHEET].iter_rows()]
    except OSError as problem:
        raise UserMistake(f"{path} can't be read: {problem.strerror or problem}") from None
    except UserMistake:
        raise
    # Damage raises any type, from several libraries.
    except Exception as problem:
        raise UserMistake(f"{path} is not an Excel workbook, or it is damaged: {problem}") from None
    return _decided(lines, path, now)


def _decided(lines: list[list[Any]], path: Path, now: datetime) -> SheetContent:
    """Return the decisions in the lines of the sheet, each a list of cells."""
    places = _places(lines[0] if lines else [], path)
    made: dict[str, tuple[int, tuple[str, date | None, str]]] = {}
    decisions, remarks, numbers, total = [], [], set(), 0
    for line, cells in enumerate(lines[1:], start=2):
        where = f"{path}, row {line}"
        values = {name: _value(cells, place, f"{where}: {HEADINGS[name]}") for name, place in places.items()}
        if found := re.fullmatch("([0-9]{1,7}) of ([0-9]{1,7})", str(values["row"] or "").strip()):
            numbers.add(int(found[1]))
            total = max(total, int(found[2]))
        choice, until, remark = _choice(values, where, now)
        if choice is None:
            if until or remark:
                remarks.append(f"{where}: no decision, so its {'remark' if remark else 'day'} is left out")
            continue
        try:
            ark = target_of(TriageTarget.ARK, str(values["ark"] or ""))
        except ValueError:
            raise UserMistake(f"{where}: {values['ark']!r} is not an ARK") from None
        earlier = made.setdefault(ark, (line, (choice, until, remark)))
        if earlier[0] != line:
            if earlier[1] != (choice, until, remark):
                raise UserMistake(
                    f"{where}: another decision about {ark} than in row {earlier[0]}: delete one of the two"
                )
            remarks.append(f"{where}: repeats row {earlier[0]}")
            continue
        checked = values["checked_at"]
        if not isinstance(checked, datetime):
            raise UserMistake(f"{where}: {HEADINGS['checked_at']} is no moment; take the row from a new report")
        at = min((checked + timedelta(milliseconds=500)).replace(microsecond=0, tzinfo=UTC), now)
        action = TriageAction.IGNORE if choice == SheetDecision.IGNORE else TriageAction.ACKNOWLEDGE
        reason = ": ".join(filter(None, ["to be replaced" if choice == SheetDecision.REPLACE else "", remark]))
        decisions.append(TriageDecision(action, TriageTarget.ARK, ark, at, reason, until))
    if missing := sorted({*range(1, total + 1)} - numbers):
        shown = ", ".join(map(str, missing[:10])) + (" …" if len(missing) > 10 else "")
        remarks.append(f"{path}: {len(missing)} of {total} rows are missing ({shown}); nothing is decided about them")
    return SheetContent(tuple(decisions), tuple(remarks))


def _places(header: list[Any], path: Path) -> dict[str, int]:
    """Return the place of each needed column, wherever it was moved. Raises `UserMistake` for a missing one."""
    names = [str(cell.value or "").strip().casefold() for cell in header]
    places = {}
    for name in NEEDED:
        title = HEADINGS[name].casefold()
        if names.count(title) != 1:
            there = "no column" if title not in names else "two columns"
            near = suggest_nearest(title, [other for other in names if other]) if title not in names else ""
            raise UserMistake(f"{path}: the sheet {SHEET!r} has {there} {HEADINGS[name]!r}{near}")
        places[name] = names.index(title)
    return places


def _value(cells: list[Any], place: int, where: str) -> Any:
    """Return the value of a cell, with text stripped; None for an empty one. Raises `UserMistake` for a formula."""
    cell = cells[place] if place < len(cells) else None
    if cell is None or cell.value is None:
        return None
    if cell.data_type == "f":
        raise UserMistake(f"{where} is a formula: write its value instead")
    return cell.value.strip() or None if isinstance(cell.value, str) else cell.value


def _choice(values: Mapping[str, Any], where: str, now: datetime) -> tuple[str | None, date | None, str]:
    """Return the decision, its day and its remark. Raises `UserMistake` for values that do not fit together."""
    remark, until = _text(values["remark"]), _day(values["until"], where)
    if values["decision"] is None:
        return None, until, remark
    word = _text(values["decision"]).casefold()
    if word not in [*SheetDecision]:
        near = suggest_nearest(word, map(str, SheetDecision)) or f"; write {', '.join(SheetDecision)} or nothing"
        raise UserMistake(f"{where}: there is no decision {word!r}{near}")
    if word == SheetDecision.IGNORE:
        if until is None or not remark:
            raise UserMistake(f"{where}: ignore needs a day in {HEADINGS['until']!r} and a remark")
        if until <= now.date():
            raise UserMistake(f"{where}: {until} is not in the future: give tomorrow or a later day")
    elif until is not None:
        raise UserMistake(f"{where}: {word} has no day: delete {until}, or write ignore")
    return word, until, remark


def _text(value: Any) -> str:
    """Return a value as text; a whole number without its point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value or "").strip()


def _day(value: Any, where: str) -> date | None:
    """Return a day from a cell with a date, or with text in ISO 8601."""
    if value is None or isinstance(value, datetime):
        return value.date() if value else None
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise UserMistake(f"{where}: {value!r} is no day: write it as 2027-01-31") from None
