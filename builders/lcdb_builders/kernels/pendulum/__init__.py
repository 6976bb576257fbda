"""Lifetimes of agents that swing up a pendulum: Actor-Critic and PPO (Jordan et al. 2018).

Equal to plain NumPy to the last bit. Actor-Critic runs eight lifetimes in step, one to a lane of
`core.simd`; PPO runs one, its features in rows of eight. Cost grows with steps times features;
PPO's also with epochs.

`environment` is the pendulum, `noise` what an episode draws; `fourier` has the features of states,
`rows` of one state in lanes; `functions` sines and exponentials; `actor_critic` and `ppo` learn.
"""
