// Nothing: its target owns the precompiled headers of the tests.
