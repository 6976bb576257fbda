"""What computing costs on this machine: behind `lcdb bench`.

`cases` holds what is timed and how long it may take, `kernels` times the learners of the database,
`baseline` the same with scikit-learn, `projection` adds up what a plan will take, `terms` turns
costs into the numbers of `lcdb_builders.planning.cost`, and `report` shows it all.
"""
