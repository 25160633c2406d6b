"""`python -m eval TASK --program NAME` asks a program the questions of a task and prints what its answers are worth.

`python -m eval compare RUN RUN …` prints what such runs have in common and where they differ.

`python -m eval retrieval --retriever SPEC --questions FILE` judges a retriever by itself.

`python -m eval export RUN … --out FILE.parquet` writes the rows of such runs as a table.

`python -m eval mlflow RUN …` logs such runs to MLflow.

`python -m eval report RUN … --out FILE.html` writes one HTML page of a run, or of several beside each other.

`python -m eval cost RUN …` prints what such runs cost, `python -m eval tasks` lists the tasks, and
`python -m eval corpus TASK --out FILE` writes the passages that a task's questions bring along.

`python -m eval paper` lists the papers' tables; with their names it runs them and prints both figures side by side.
"""

import json
import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy
from tqdm import tqdm

import programs
from eval import metrics
from eval.figures.comparison import compare, read
from eval.figures.costs import costs
from eval.figures.summary import Row, summarise
from eval.reports.html.page import page, write
from eval.reports.text import comparison_table, cost_table, table
from eval.runs import retrieval_run as retrieval
from eval.runs.ceiling import is_oracle, load_oracle
from eval.runs.fingerprints import fingerprints
from eval.runs.recorded_calls import Limits
from eval.runs.runner import evaluate, without_url_secrets
from eval.tasks import SEED, TASKS, choose, load
from eval.tasks.own_passages import write_corpus
from programs.commands import method as _cli
from programs.instruments.plan import price
from retrieval import OdqaError, Retriever, UsageError
from retrieval import load as load_retriever
from retrieval.corpora.reader import read as read_corpus
from retrieval.specs import FORMS

_PROG = "python -m eval"
# Flags that say how the questions are asked, and not which, of what, with what.
_HOW = {"run", "data", "threads", "lm_calls", "retries", "max_calls", "max_usd", "max_minutes", "mlflow"}


def main(argv: Sequence[str]) -> None:
    commands = {
        "compare": _compare,
        "report": _report,
        "retrieval": _retrieval,
        "cost": _cost,
        "export": _export,
        "mlflow": _mlflow,
        "tasks": _tasks,
        "corpus": _corpus,
        "paper": _paper,
    }
    if argv and argv[0] in commands:
        commands[argv[0]](argv[1:])
        return
    chooser = _cli.Parser(prog=_PROG, add_help=False, allow_abbrev=False)
    chooser.add_argument("--program")
    name = chooser.parse_known_args(argv)[0].program
    program = None if name is None else programs.load(name)
    parser = _parser(program)
    args = parser.parse_args(argv)
    assert program is not None  # --program is required
    _evaluate(program, args)


def _parser(program: type[dspy.Module] | None) -> _cli.Parser:
    parser = _cli.Parser(
        prog=_PROG,
        allow_abbrev=False,
        description="Ask a program the questions of a task; one row per question goes to a directory, the figures are "
        "printed. A run that was cut short goes on where it stopped when it is started again with the same flags and "
        "--run with its directory. --lm oracle, or oracle:ERROR_RATE, gives the ceiling of the method with its "
        "retriever, --lm extractive the floor.",
        epilog=None if program else "With --program NAME, --help lists the settings of this program too.",
    )
    parser.add_argument(
        "task",
        metavar="TASK",
        help="sample, file:QUESTIONS.jsonl[.gz], or NAME or NAME:VARIANT for a data set and what a paper asks of it; "
        "python -m eval tasks lists them",
    )
    _add_data(parser)
    parser.add_argument(
        "--program", required=True, metavar="NAME", help=f"the program to evaluate: {', '.join(programs.names())}"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions (default: all)")
    parser.add_argument(
        "--threads", type=int, default=8, metavar="N", help="questions in flight at once (default: %(default)s)"
    )
    parser.add_argument("--run", metavar="DIR", help="directory of the run (default: runs/TASK-PROGRAM-TIME)")
    parser.add_argument(
        "--lm-calls", type=int, default=32, metavar="N", help="LM calls in flight at once (default: %(default)s)"
    )
    parser.add_argument(
        "--retries",
        type=int,
        default=2,
        metavar="N",
        help="how often a question is asked again after an error of the provider (default: %(default)s)",
    )
    parser.add_argument(
        "--max-calls", type=int, metavar="N", help="stop when the run has paid for so many LM calls, a judge's included"
    )
    parser.add_argument(
        "--max-usd", type=float, metavar="USD", help="stop when the run has cost so many US dollars, a judge's included"
    )
    parser.add_argument("--max-minutes", type=float, metavar="MIN", help="stop after so many minutes")
    parser.add_argument(
        "--metrics",
        metavar="NAME,…",
        help=f"what to compute: {metrics.HELP} (default: em, f1 and the recalls; with accuracy in place of em and f1 "
        "where all questions are answered by yes or no)",
    )
    _add_judge_api_base(parser)
    parser.add_argument(
        "--mlflow",
        metavar="EXPERIMENT",
        help="trace each question to this experiment of MLflow; python -m eval mlflow logs the run as such",
    )
    _cli.add_environment(parser)
    if program:
        _cli.add_settings(parser, program)
    return parser


def _command(name: str, description: str, epilog: str | None = None) -> _cli.Parser:
    return _cli.Parser(prog=f"{_PROG} {name}", allow_abbrev=False, description=description, epilog=epilog)


def _add_runs(parser: _cli.Parser, more: str = "") -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"directory of a run{more}")


def _compare(argv: Sequence[str]) -> None:
    parser = _command(
        "compare",
        "Compare runs of one task on the questions that all of them asked: means and differences with "
        "their confidence intervals, tests, and costs.",
        epilog="For the best of n answers make n runs, each with a --run and a --temperature of its own: at the same "
        "temperature DSPy's cache would give the same answers again.",
    )
    _add_runs(parser, "; several with commas between them for the best of their answers to each question")
    parser.add_argument("--metric", metavar="NAME,…", help="compare by these metrics (default: all that all runs have)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    comparison = compare([read(run) for run in args.runs], args.metric.split(",") if args.metric else [])
    print(json.dumps(asdict(comparison), ensure_ascii=False) if args.json else comparison_table(comparison))


def _report(argv: Sequence[str]) -> None:
    parser = _command(
        "report",
        "Write one HTML file, which needs no network and no other file: figures with their intervals, "
        "accuracy against cost, and each question's way from its queries to its answer; of one run, or of several of "
        "one task side by side.",
    )
    _add_runs(parser, "; several with commas between them for the best of their answers to each question")
    parser.add_argument(
        "--out", required=True, metavar="FILE.html", help="file to write; a report that is there is overwritten"
    )
    args = parser.parse_args(argv)
    if not args.out.endswith(".html"):
        raise UsageError(f"a report is an HTML file: its name must end in .html, and {args.out} does not")
    write(args.out, page(args.runs))
    _cli.say(f"report: {args.out}")


def _retrieval(argv: Sequence[str]) -> None:
    parser = _command(
        "retrieval",
        "Search questions with a retriever, and compare what is found with the gold titles, passages and "
        "answers; one row per question goes to a directory, the figures are printed.",
    )
    parser.add_argument("--retriever", required=True, metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument(
        "--questions", required=True, metavar="FILE", help="QUESTIONS.jsonl[.gz], or sample for the packaged ones"
    )
    parser.add_argument(
        "-k", type=int, nargs="+", default=[5, 10, 20, 100], metavar="K", help="cut-offs (default: 5 10 20 100)"
    )
    parser.add_argument("--against", metavar="SPEC", help="another retriever, to compare the first one with")
    parser.add_argument("--limit", type=int, metavar="N", help="search only the first N questions (default: all)")
    parser.add_argument("--run", metavar="DIR", help="directory for the rows (default: runs/retrieval-FILE-TIME)")
    args = parser.parse_args(argv)
    examples = load(args.questions if args.questions == "sample" else f"file:{args.questions}", args.limit)
    specs = [spec for spec in (args.retriever, args.against) if spec]
    retriever = load_retriever(args.retriever)
    against = load_retriever(args.against) if args.against else None
    directory = args.run or f"runs/retrieval-{_task_name(args.questions)}-{time.strftime('%Y%m%d-%H%M%S')}"
    _cli.say(f"run: {directory}")
    with tqdm(total=len(examples) * len(specs), unit="question", disable=None, file=sys.stderr) as bar:
        figures = retrieval.evaluate(
            retriever,
            examples,
            directory=directory,
            ks=args.k,
            against=against,
            manifest={"file": args.questions, "retrievers": [*map(without_url_secrets, specs)]},
            progress=bar.update,
        )
    print(retrieval.table(figures))


def _cost(argv: Sequence[str]) -> None:
    parser = _command(
        "cost",
        "What runs cost, by predictor and in total: LM calls, tokens, dollars, searches, seconds, and "
        "iterations where the program has them.",
    )
    _add_runs(parser)
    args = parser.parse_args(argv)
    runs = [(name, read(name)) for name in args.runs]
    print("\n\n".join(f"{name}\n{cost_table(costs(run.rows, run.manifest))}" for name, run in runs))


def _export(argv: Sequence[str]) -> None:
    from eval.reports.export import export

    parser = _command(
        "export",
        "Write the rows of runs as a table, a row for each question of each run: question, gold answers, "
        "answer, scores, error, costs.",
    )
    _add_runs(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="table to write, .csv or .parquet")
    args = parser.parse_args(argv)
    print(json.dumps({"rows": export([read(run) for run in args.runs], args.out)}))


def _mlflow(argv: Sequence[str]) -> None:
    parser = _command(
        "mlflow",
        "Log runs to MLflow's tracking store, which MLFLOW_TRACKING_URI names: settings, figures with "
        "their intervals, costs and the run's files. A run that was logged before is brought up to date.",
    )
    _add_runs(parser)
    parser.add_argument(
        "--experiment", default="dspy-odqa", metavar="NAME", help="the experiment to log to (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    from eval.reports.mlflow import log

    for name in args.runs:
        print(json.dumps({"run": name, "mlflow_run": log(name, experiment=args.experiment)}))


def _tasks(argv: Sequence[str]) -> None:
    parser = _command("tasks", "List the tasks: spec, questions, corpus.")
    parser.parse_args(argv)
    print("sample\tthe packaged questions\tthe retriever sample")
    for name, task in TASKS.items():
        for variant, of in task.variants.items():
            print(name if variant == "all" else f"{name}:{variant}", of.source, of.corpus, sep="\t")


def _corpus(argv: Sequence[str]) -> None:
    parser = _command(
        "corpus",
        "Write the passages that the questions of a task bring along, gold and distracting, for python -m "
        "retrieval index; with --add-to behind those of a corpus, but for what it has already.",
    )
    parser.add_argument("task", metavar="TASK", help="NAME or NAME:VARIANT")
    parser.add_argument("--out", required=True, metavar="FILE", help="corpus to write, .jsonl or .jsonl.gz")
    parser.add_argument("--add-to", metavar="CORPUS", help="corpus to add them to, .jsonl or .jsonl.gz")
    _add_data(parser)
    args = parser.parse_args(argv)
    task, variant = choose(args.task)
    own = task.passages(variant, None if args.data is None else Path(args.data))
    with tqdm(unit="passage", disable=None, file=sys.stderr) as bar:
        base = () if args.add_to is None else read_corpus(args.add_to)
        of_base, added = write_corpus(args.out, own, (bar.update() or passage for passage in base))
    print(json.dumps({"passages": of_base + added, "added": added}))


def _add_data(parser: _cli.Parser) -> None:
    parser.add_argument(
        "--data",
        default=os.environ.get("ODQA_DATA") or None,
        metavar="DIR",
        help="directory with local copies of data sets: NAME.dev.jsonl.gz, or a directory NAME as on the hub (default: "
        "ODQA_DATA)",
    )


def _add_judge_api_base(parser: _cli.Parser) -> None:
    parser.add_argument(
        "--judge-api-base", metavar="URL", help="address of an OpenAI-compatible server for the LM of acc_judge"
    )


def _paper(argv: Sequence[str]) -> None:
    from eval.papers import printing, running, setup
    from eval.papers import tables as papers

    parser = _command(
        "paper",
        "List the tables and figures of the papers; or run the rows of some, and print the paper's figures "
        "beside ours. What was run before is taken up and not run again.",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="such as blendfilter:table1 (default: list all)")
    parser.add_argument("--show", action="store_true", help="print the tables as the papers have them, and run nothing")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions of each task")
    parser.add_argument("--judge", metavar="LM", help="LM of acc_judge (default: leave that metric out)")
    _add_judge_api_base(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting for all programs that have it"
    )
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="PROGRAM[:TASK]=FILE",
        help="a state file with demonstrations, where the paper shows some (default: zero-shot)",
    )
    parser.add_argument("--runs", default="runs/paper", metavar="DIR", help="where the runs go (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=8, metavar="N", help="questions in flight at once (default: 8)")
    parser.add_argument("--max-calls", type=int, metavar="N", help="stop each run after so many LM calls")
    parser.add_argument(
        "--retriever",
        default=os.environ.get("ODQA_RETRIEVER"),
        metavar="SPEC",
        help=f"{' or '.join(FORMS)} (default: ODQA_RETRIEVER, else only the closed-book rows are run)",
    )
    parser.add_argument(
        "--oracle-retriever",
        metavar="SPEC",
        help="for the rows with an oracle corpus: over one with the data sets' own passages in it",
    )
    parser.add_argument("--lm", default="auto", metavar="SPEC", help="as for a run (default: %(default)s)")
    parser.add_argument(
        "--api-base",
        default=os.environ.get("ODQA_API_BASE") or None,
        metavar="URL",
        help="address of an OpenAI-compatible server for the LM (default: ODQA_API_BASE)",
    )
    parser.add_argument("--temperature", type=float, default=None, metavar="T", help="sampling temperature of the LM")
    _add_data(parser)
    args = parser.parse_args(argv)
    tables = [papers.find(name) for name in args.tables]
    if not tables:
        print(printing.listing())
        return
    if args.show:
        print("\n\n".join(map(printing.show, tables)))
        return
    with tqdm(unit="question", disable=None, file=sys.stderr) as bar:
        made = setup.Setup(
            lm=lambda examples, retriever: _lm(args, examples, retriever),
            retriever=load_retriever(args.retriever) if args.retriever else None,
            retriever_spec=args.retriever,
            oracle=load_retriever(args.oracle_retriever) if args.oracle_retriever else None,
            oracle_spec=args.oracle_retriever,
            directory=Path(args.runs),
            limit=args.limit,
            data=args.data,
            judge=args.judge,
            judge_api_base=args.judge_api_base,
            settings=setup.assigned(args.set),
            states=setup.states(args.state),
            threads=args.threads,
            limits=Limits(calls=args.max_calls),
            on_row=lambda row: bar.update(),
            clean=_cli.without_secrets,
        )
        results = [printing.beside(running.run(table, made)) for table in tables]
    print("\n\n".join(results))


def _lm(args: Namespace, examples: Sequence[dspy.Example], retriever: Retriever | None) -> dspy.LM:
    """The LM that the flags ask for; the oracle knows these questions."""
    return load_oracle(args.lm, examples, retriever) if is_oracle(args.lm) else _cli.load_lm(args)


def _evaluate(program: type[dspy.Module], args: Namespace) -> None:
    limits = Limits(calls=args.max_calls, usd=args.max_usd, minutes=args.max_minutes)
    examples = load(args.task, args.limit, data=args.data)
    chosen = _metrics(args, examples)
    retriever = _cli.load_retriever(args)
    module = _cli.make(program, args, retriever)
    lm = _lm(args, examples, retriever)
    if limits.usd is not None and (free := _without_price(lm, chosen)):
        raise UsageError(f"the price of {free} is unknown, and so --max-usd cannot be held: use --max-calls")
    directory = args.run or f"runs/{_task_name(args.task)}-{args.program}-{time.strftime('%Y%m%d-%H%M%S')}"
    _cli.say(f"run: {directory}")
    if args.mlflow:
        from eval.reports.mlflow import Tracing, trace_to

        dspy.configure(callbacks=[Tracing()])
        trace_to(args.mlflow)
    with dspy.context(lm=lm), tqdm(total=len(examples), unit="question", disable=None, file=sys.stderr) as bar:
        failed = 0

        def on_row(row: Row) -> None:
            nonlocal failed
            failed += row["error"] is not None
            bar.set_postfix(failed=failed, refresh=False)
            bar.update()

        try:
            summary = evaluate(
                module,
                examples,
                metrics=chosen,
                directory=directory,
                threads=args.threads,
                lm_calls=args.lm_calls,
                retries=args.retries,
                limits=limits,
                manifest=_manifest(program, args, lm),
                on_row=on_row,
                clean=_cli.without_secrets,
            )
        except KeyboardInterrupt:
            if Path(directory, "rows.jsonl").exists():
                run = read(directory)
                print(table(summarise(run.rows, len(examples), run.manifest, "interrupted")), flush=True)
            _cli.say(f"interrupted; with --run {directory} the same command goes on")
            raise
    if summary.total.n and summary.total.failed == summary.total.n:
        raise OdqaError(f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}")
    print(table(summary))
    if summary.stopped:
        _cli.say(f"with --run {directory} and another limit the same command goes on")


def _without_price(lm: dspy.LM, chosen: Sequence[metrics.Metric]) -> str | None:
    """The LM, or the metric with a judge, of which nobody knows what it costs, if there is one."""
    tests = {metric.__name__: metrics.self_test_of(metric) for metric in chosen}
    unknown = [name for name, test in tests.items() if test and test.usd is None]
    return lm.model if price(lm, 1, 1) is None else next(iter(unknown), None)


def _manifest(program: type[dspy.Module], args: Namespace, lm: dspy.LM) -> dict[str, Any]:
    """Every flag that has a part in the answers."""
    settings = _cli.settings_of(program, args)
    flags = {name: value for name, value in vars(args).items() if name not in {*_HOW, *settings}}
    if args.state:
        flags["state"] = {"file": args.state, "sha256": sha256(Path(args.state).read_bytes()).hexdigest()}
    for name in "api_base", "judge_api_base", "retriever":
        flags[name] = flags[name] and without_url_secrets(flags[name])
    made = fingerprints(args.retriever)
    return {**flags, "lm": lm.model, "settings": settings, "fingerprints": made, "seed": SEED}


def _metrics(args: Namespace, examples: Sequence[dspy.Example]) -> Sequence[metrics.Metric]:
    if not args.metrics:
        return metrics.standard(examples)
    names = dict.fromkeys(args.metrics.split(","))
    return [metrics.load(name, judge_api_base=args.judge_api_base) for name in names]


def _task_name(spec: str) -> str:
    return Path(spec.removeprefix("file:")).name.removesuffix(".gz").removesuffix(".jsonl").replace(":", "-")


if __name__ == "__main__":
    _cli.run(_PROG, lambda: main(sys.argv[1:]))
