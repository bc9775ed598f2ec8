"""Dates of the proleptic ISO calendar for any year; those of Python end with the year 9999."""

from __future__ import annotations


def civil_date(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970."""
    # Days from 0000-03-01 on, so that the leap day is the last of its year.
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + 400 * era + (month <= 2), month, day


def date_text(year: int, month: int, day: int) -> str:
    """``LocalDate.toString()``: as in ISO 8601."""
    return f"{year_text(year)}-{month:02}-{day:02}"


def year_text(year: int) -> str:
    """At least four digits, a sign beyond those."""
    if year > 9999:
        return f"+{year}"
    return f"-{-year:04}" if year < 0 else f"{year:04}"
