"""Nightly fuzzing: drawn histories of every store, guided by what they have not shown yet.

A *target* is a way to make a history out of a list of choices (`targets`). A *unit* is so many histories of one
target, drawn from a seed: a value, which means the same wherever it is run (`unit`). A *night* hands out units to
workers, keeps the lists of choices that showed something new in a *corpus*, and gathers what broke a law (`night`,
`corpus`).
"""
