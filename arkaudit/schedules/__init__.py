"""Schedules of audits and notifications about them."""
