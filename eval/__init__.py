"""Programs judged from outside: tasks give the questions, metrics score the predictions, a run keeps every row.

    from eval.metrics import em, f1
    from eval.runs.runner import evaluate
    from eval.tasks import load

    evaluate(program, load("sample"), metrics=[em, f1], directory="runs/mine").total.scores["em"]

Write `from eval.x import y`, never `import eval`: it hides the builtin.
"""

import odqa.interrupts  # noqa: F401  # first: from here on an interrupt is no traceback
