"""The same questions, asked in a page of the user's own browser."""
