"""Before DSPy is imported: no cache outside the test run, no look-up of prices on the network and no report over it, no
keys of the user. And interrupts that interrupt, in what the tests start too: a shell has what is in its background
ignore them."""

import os
import signal
import tempfile

os.environ["DSPY_CACHEDIR"] = tempfile.mkdtemp(prefix="dspy-odqa-tests-")
os.environ["HOME"] = tempfile.mkdtemp(prefix="dspy-odqa-tests-")  # where the index of the sample is kept
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
for name in ("ODQA_LM", "ODQA_API_BASE", "ODQA_RETRIEVER", "OPENAI_API_KEY"):
    os.environ.pop(name, None)

signal.signal(signal.SIGINT, signal.default_int_handler)
