"""The command line of a method, and the flags that it shares with eval and optimizers."""
