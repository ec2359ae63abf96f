"""The environment variables that the workbench reads; a test holds the list against the code."""

VARIABLES = {
    "WORKBENCH_HOME": "Folder of runs, registry and ledger. Default: `~/.dp-diffusion-workbench`.",
    "WORKBENCH_DATA": "Folder with the files of named datasets (MNIST, CelebA, the census, ...). Default: `data` in the home.",
    "WORKBENCH_THREADS": "Threads of each job. Default: half of the processors.",
    "WORKBENCH_LAUNCHER": "Where runs train, a name of `LAUNCHERS`. Default: `local`.",
    "WORKBENCH_SHARED": "Folder that the nodes of a cluster share: runs that train there have their folders in it.",
    "WORKBENCH_SLURM": "Further options of sbatch, such as `--partition=gpu --account=mine`.",
    "WORKBENCH_PYTHON": "The interpreter on the nodes, where it is called otherwise than here.",
    "WORKBENCH_CHECKPOINT_SECONDS": "Seconds between two checkpoints of a run. Default: 30.",
    "WORKBENCH_MAX_UNPACKED_MIB": "Largest size that an archive of yours may unpack to, in MiB. Default: 256.",
    "XDG_CACHE_HOME": "Folder of what is computed again when needed, where the home may not be written. Default: `~/.cache`.",
}
FOR_TESTS = {
    "WORKBENCH_REQUIRE_BROWSER": "`1`: tests fail, instead of being skipped, where there is no Chromium.",
    "WORKBENCH_SLOW_HOME": "A home whose finished runs the slow tier may use.",
    "WORKBENCH_SCREENSHOTS": "Folder in which the slow tier keeps screenshots of every page, and the pictures of the documents.",
    "FAST": "Lessons run small, in seconds.",
}
