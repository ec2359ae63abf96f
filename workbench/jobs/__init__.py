"""Step 3: work that outlives whoever asked for it. A job is a process that does a task; a run is a folder, made by the job that trains it.

What a job is (`job`), its life (`lifecycle`), what is asked of it (`control`), what it does (`tasks/`), where its process runs
(`launchers/`), the process itself (`worker`). Nothing here is imported before it is used, so listings stay quick.
"""
