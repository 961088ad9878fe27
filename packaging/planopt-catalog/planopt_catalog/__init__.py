"""Catalogs for planopt, newer than those that it brings: data alone."""
