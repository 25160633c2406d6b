"""Records what a real model replies to every signature, through every adapter; and shows which share of it is read.

    python benchmarks/record_replies.py --lm gguf:SmolLM2-135M-Instruct.Q4_1.gguf --out replies.jsonl
    python benchmarks/record_replies.py --shares tests/data/recorded_replies.jsonl

The prompts are short: passages of the packaged sample, one question, few tokens for the reply. A line of the file has
`signature`, `adapter`, `schema` (whether decoding followed the outputs' JSON schema) and `text`. Replies that the file
has already are not asked for again.
"""

import argparse
import json
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dspy
from dspy.utils.exceptions import AdapterParseError

import lms
from programs.instruments.adapters import load_adapter
from retrieval.corpora.reader import SAMPLE, read

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.recorded_replies import recorded, signatures, table

PARALLEL = 4

WAYS = {"chat": [False], "json": [False, True], "xml": [False]}
"""The adapters, each without and, for JSON, with the schema."""

TOPICS = {
    "AC Milan": ("Who founded AC Milan?", "Was AC Milan founded before 1900?", "Herbert Kilpin", "Rudolf Dassler"),
    "Lake Tana": ("Which river leaves Lake Tana?", "Is Lake Tana in Ethiopia?", "the Blue Nile", "the Black Drin"),
    "Mikhail Tal": ("Where was Mikhail Tal born?", "Was Mikhail Tal born in Moscow?", "Riga", "Moscow"),
}
"""By the title of a passage: a question, one to be answered with yes or no, the answer, and a wrong one."""
TEXTS = {passage.title: passage.text for passage in read(SAMPLE) if passage.title in TOPICS}


def inputs(signature: type[dspy.Signature], topic: int) -> dict[str, str]:
    """Something for every input field, by its name."""
    title = list(TOPICS)[topic % len(TOPICS)]
    other = list(TOPICS)[(topic + 1) % len(TOPICS)]
    question, yes_or_no, answer, wrong = TOPICS[title]
    sentences = TEXTS[title].split(". ")
    yesno = "yes or no" in str(signature.input_fields.get("question")) or "YesNo" in signature.__name__
    values = {
        "question": yes_or_no if yesno else question,
        "questions": f"[1] {question}\n[2] {yes_or_no}",
        "query": question,
        "context": f"[1] {title} | {sentences[0]}.\n[2] {other} | {TEXTS[other].split('. ')[0]}.",
        "facts": "\n".join(f"[{n}] {sentence}" for n, sentence in enumerate(sentences[:2], 1)),
        "claims": f"[1] [1] {sentences[0]}.\n[2] [2] {wrong} has to do with {title}.",
        "document": sentences[0],
        "passage": ". ".join(sentences[:2]),
        "entities": f"{title}\n{answer}",
        "title": title,
        "topic": title,
        "knowledge": f"[1] {sentences[0]}.",
        "candidate": answer,
        "rival": wrong,
        "prediction": wrong,
        "right": answer,
        "first": f"{sentences[0]}.",
        "second": f"{sentences[1]}.",
        "summary": f"{sentences[0]}.",
        "analysis": f"The document is about {title}.",
        "statement": f"The answer is {answer}.",
        "missing": "the year in which it was",
        "history": f"What is {title}?",
        "notes": f"[1] {sentences[0]}.",
        "chain": f"Thought 1: I have to look up {title}.",
        "searches_left": "9",
    }
    return {name: values.get(name, "") for name in signature.input_fields}


def record(lm: dspy.LM, out: Path, each: int, tokens: int) -> None:
    """Ask until there are `each` replies to every signature in every way, some calls at a time."""
    had = Counter((one.signature, one.adapter, one.schema) for one in recorded(out)) if out.exists() else Counter()
    lock = threading.Lock()

    def ask(signature: type[dspy.Signature], adapter: str) -> None:
        # One prompt after the other with the same beginning: the model has to read it once.
        for schema in WAYS[adapter]:
            for draw in range(had[signature.__name__, adapter, schema], each):
                text = reply(lm.copy(), signature, adapter, schema, draw, tokens)
                line = {"signature": signature.__name__, "adapter": adapter, "schema": schema, "text": text}
                with lock, out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")

    with ThreadPoolExecutor(PARALLEL) as pool:
        for done in [pool.submit(ask, signature, adapter) for signature in signatures() for adapter in WAYS]:
            done.result()


def reply(lm: dspy.LM, signature: type[dspy.Signature], adapter: str, schema: bool, draw: int, tokens: int) -> str:
    """The text of one reply, whether it can be read or not."""
    form = load_adapter(adapter, "on" if schema else "off")
    form.use_json_adapter_fallback = False
    config = {"temperature": 0.7, "seed": draw + 1, "max_tokens": tokens}
    try:
        with dspy.context(lm=lm, adapter=form):
            dspy.Predict(signature)(**inputs(signature, len(signature.__name__) + len(adapter)), config=config)
    except AdapterParseError:
        pass
    return str(lm.history[0]["outputs"][0])


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm", help="the model, such as gguf:FILE")
    parser.add_argument("--out", type=Path, help="the file that the replies are added to")
    parser.add_argument("--each", type=int, default=3, help="replies per signature and way (default: 3)")
    parser.add_argument("--tokens", type=int, default=40, help="length of a reply in tokens (default: 40)")
    parser.add_argument("--shares", type=Path, metavar="FILE", help="show the shares of recorded replies")
    args = parser.parse_args(arguments)
    if args.shares:
        print(table(recorded(args.shares)))
    elif args.lm and args.out:
        settings = {"context": 1024, "parallel": PARALLEL} if args.lm.startswith("gguf:") else {}
        record(lms.load(args.lm, cache=False, **settings), args.out, args.each, args.tokens)
    else:
        parser.error("--shares FILE, or --lm and --out")


if __name__ == "__main__":
    main()
