"""A plan is executed: on one machine or many, stopped and resumed at any moment."""
