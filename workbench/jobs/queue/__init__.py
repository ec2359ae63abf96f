"""Jobs that wait for their turn: one run a GPU, so many on the CPU, and what may run beside them.

What fits is a pure function (`places`), when it is expected another (`forecast`); `passing` starts what fits and keeps a process
(`process`) where jobs are left to wait; `line` is what a reader sees, `orders` what a person may change.

Nothing here has to live: the state is in the registry, each start is one transaction, and whoever looks starts a process that died.
"""
