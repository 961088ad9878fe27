"""The figures of the seed article, worked out again through the model itself.

The article's figures are rows of ``catalogs/article/seed-figures.csv``; the inputs of
each are a scenario in ``catalogs/article/scenarios``, as data. Nothing here knows a
result: a figure is a field of an evaluation, or one of a few general functions.
"""
