"""The stores, broken on purpose: a law that no mutant breaks is not yet a law."""
