"""`python -m programs` lists the methods, one line each."""

from programs import load, names

for name in names():
    print(f"{name:20} {(load(name).__doc__ or '').splitlines()[0]}")
