"""A plan as a file for people: a page, Markdown, rows, a workbook."""
