"""``planopt calibrate``: what the user's own accelerator or processor really reaches.

``programme`` says what is measured, ``device`` what a device must be able to do (NumPy
on a processor, PyTorch on anything it drives), ``fit`` turns times into figures, and
``overlay`` writes them as a catalog to be laid over the bundled one.
"""
