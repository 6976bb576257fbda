"""Make docs/trials.md of the experiments that ship: `make findings`.

Every number of the page is computed when it is written, but for what was measured once by commands
that stand there: `MOVES`, `TUNED_MOVES` (docs/linear.py), `SPREAD` (docs/spread.py), and what
`made.py` says of how the experiments were made. A test holds the page against what is computed
again.

- `classifiers.py` Table 1, which learner is better, what tuning gains, where the spread comes from
- `linear.py` the task `linear`, where learners are low
- `agents.py` Actor-Critic and PPO on the pendulum
- `made.py` how the experiments were made
- `printed.py` how far results are off what the paper prints
- `page.py` the page
"""
