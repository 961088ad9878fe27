"""Answers in the formats of other tools."""
