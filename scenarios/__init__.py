"""What to try on eukhe and what must be true: laws, suites, mutants, the catalogue and the command line.

Reading order: `laws/` (what must be true), `suites/storage.py` (what is tried), `mutants/` (how the laws are tried in
turn), `catalog.py` (everything under its name), `cli.py`.
"""
