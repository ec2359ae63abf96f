"""Jobs whose workers run where the home's registry and ledger cannot be written: they travel and report as files in the job's folder.

`order` is what a worker is told: written by the home alone. `post` is where one process of an attempt reports: what it charges
(`workbench.privacy.spending.journals`), how far it is, how it ended. `sending` is what the home does before an attempt and after it.
An order of another attempt, one that has ended, and a lease that another process has taken are the fence: whoever finds one draws and
writes no more. Whoever wrote the fence reads the journals after it, and so knows of all that was drawn. No SQLite file is opened by two
machines.
"""
