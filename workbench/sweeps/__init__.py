"""Sweeps: methods x epsilons x settings x seeds as one recipe, which a job carries out by the queue.

What is asked (`grid`), where it is kept and what it is called by (`kept`), what it costs before anything starts (`price`), how its runs
begin and are measured (`children`), and what they came to (`results`). The job itself is a task (`workbench.tasks.sweeping`).
"""
