"""Serving: the question, the search, the purchase, and what explains the answer."""
