"""Documents: what is saved, read again, checked and shown."""
