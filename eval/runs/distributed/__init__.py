"""Runs whose questions are asked in other processes: Ray actors, on this machine or on many.

job.py        what an actor is sent: the program, the metrics, the LM
messages.py   what driver and actor tell each other, in exchanges that the driver begins
worker.py     the actor: asks questions; each LM call waits for leave, and its reply travels at once
driver.py     in the process of the run, which alone writes its directory

An exchange carries whatever has gathered since the last one. So a busy actor costs the driver some hundred exchanges a
second at most, however many calls it makes.
"""
