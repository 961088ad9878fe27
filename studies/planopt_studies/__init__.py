"""What planopt's figures are fitted to and judged by; not part of what is installed."""
