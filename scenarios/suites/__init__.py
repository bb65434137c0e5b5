"""What is tried on the stores, a suite a store, and the models that the suites judge by."""
