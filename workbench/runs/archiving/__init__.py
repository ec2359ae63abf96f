"""Finished runs in one file, from home to home: `pack` writes it, `unpack` reads it, `contents` says what is in it.

An archive is private: it has weights that may not leave the room, metrics of private records, and the ledger's entries. No noise key.
"""
