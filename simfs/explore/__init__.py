"""The explorer: scenarios, choices, runs, crash points, laws, verdicts, replay.

Data flows one way: scenario -> run -> op journal -> crash images -> recovery -> laws -> verdict. See `search.py` for
the whole of it on one page. """
