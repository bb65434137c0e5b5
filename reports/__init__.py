"""The only package that renders: a counterexample as text, a verdict as JSON, a run as a table.

It reads simfs's values and knows neither the stores nor the scenarios.
"""
