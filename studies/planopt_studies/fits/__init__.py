"""Fits what accelerators and links reach to measured kernels, and writes it as data.

Run by ``make calibrate``; it needs the extra ``fit``. planopt itself never imports it.
"""
