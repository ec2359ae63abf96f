"""Work that outlives whoever asked for it: an engine of processes, which knows no task by name.

What a job is (`job`), its row (`registry`), its life (`lifecycle`), how it waits for its turn (`queue/`) and starts (`starting`),
its worker's sign of life (`heartbeat`), what can be asked of it (`control`), where its process runs (`launchers/`). What an engine
has to know of a task stands in the job's row (`Terms`).
"""
