"""How many of one unit make another."""

SECONDS_PER_HOUR = 3600
HOURS_PER_DAY = 24
SECONDS_PER_DAY = SECONDS_PER_HOUR * HOURS_PER_DAY
HOURS_PER_YEAR = 365 * HOURS_PER_DAY
MONTHS_PER_YEAR = 12
WATTS_PER_KILOWATT = 1000
MICRO_USD = 10**6  # Micro-dollars of a dollar
CENTS = 100  # Cents of a dollar
TOKENS_PER_MILLION = 10**6  # What prices of tokens are told for
