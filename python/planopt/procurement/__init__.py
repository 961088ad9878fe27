"""Procurement: which rows to buy, decided by OR-Tools in a process of its own.

The core says what a solver is offered, and adds purchases up; `purchase` answers, and
says why there is no answer.
"""
