"""Lifetimes of agents that swing up a pendulum: Actor-Critic and PPO (Jordan et al. 2018).

Equal to plain NumPy to the last bit. Eight lifetimes run in step, in the lanes of `core/simd`.
`environment` is the pendulum, `noise` what an episode draws; `fourier` has the features of states,
`rows` of one state in lanes; `functions` sines and exponentials; `actor_critic` and `ppo` learn.
"""
