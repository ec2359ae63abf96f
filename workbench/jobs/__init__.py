"""Step 3: a run is a process and a folder. Nothing here is imported before it is used, so listings stay quick."""
