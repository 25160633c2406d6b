"""The tables and figures of the four papers as plain data, for `eval.papers.paper`.

A row of a table reads: what the paper calls it | what to run | the paper's figures, in the order of the columns.
What to run is a program with its settings, as NAME setting=value …, and what `eval.papers.paper.Line` has besides; a
setting with the value ? has to be given with --set, because it names weights. A column reads: what the paper calls it |
task | metric; without task and metric the paper's figures stand alone. "-" is a figure that the paper does not print,
and where a figure is an image, none is printed. Bold type and footnotes are left out.
"""

__all__ = ["PAPERS", "TABLES"]

PAPERS = {
    "blendfilter": "Wang et al., BlendFilter, EMNLP 2024",
    "qpaug": "Kim, Park and Baek, QPaug, Findings of EMNLP 2024",
    "chain_of_rewrite": "Xin et al., Chain-of-Rewrite, COLING 2025",
    "migres": "Wang et al., MIGRES, 2024",
}

_ABSTRACTS = "abstracts of Wikipedia of 2017"
_DPR = "21,015,324 passages of Wikipedia of December 2018"
_GPT = "GPT3.5-turbo-Instruct, three examples in the prompt"

_THREE_SETS = """
HotPotQA Exact Match | hotpotqa:blendfilter | em
HotPotQA F1 | hotpotqa:blendfilter | f1
HotPotQA IMP
2WikiMultihopQA Exact Match | 2wikimultihopqa:blendfilter | em
2WikiMultihopQA F1 | 2wikimultihopqa:blendfilter | f1
2WikiMultihopQA IMP
StrategyQA Accuracy | strategyqa:blendfilter | accuracy
StrategyQA IMP
"""
_HOTPOT = """
Exact Match | hotpotqa:blendfilter | em
F1 | hotpotqa:blendfilter | f1
"""
_QPAUG_F1 = """
NQ | nq:qpaug | f1
2wiki | 2wikimultihopqa:qpaug | f1
Hotpot | hotpotqa:qpaug | f1
"""
_REWRITE_SETS = """
NQ EM | nq:chain_of_rewrite | em
NQ F1 | nq:chain_of_rewrite | f1
WebQ EM | webquestions:chain_of_rewrite | em
WebQ F1 | webquestions:chain_of_rewrite | f1
TriviaQA EM | triviaqa:chain_of_rewrite | em
TriviaQA F1 | triviaqa:chain_of_rewrite | f1
PopQA ACC | popqa:chain_of_rewrite | popqa_accuracy
"""

TABLES: dict[str, dict[str, str]] = {
    "blendfilter:table1": {
        "title": "BlendFilter and baselines with GPT3.5-turbo-Instruct",
        "lm": _GPT,
        "corpus": f"ColBERTv2 over the {_ABSTRACTS}",
        "scale": "1",
        "note": "IMP is the gain of BlendFilter over the row, in exact match or accuracy.",
        "columns": _THREE_SETS,
        "rows": """
Direct, without retrieval | direct retriever=none | 0.304 0.410 67.1% 0.282 0.318 43.3% 0.648 14.8%
CoT, without retrieval | cot retriever=none | 0.302 0.432 68.2% 0.300 0.403 34.7% 0.700 6.3%
Direct | direct | 0.412 0.537 23.3% 0.318 0.371 27.0% 0.634 17.4%
CoT | cot | 0.434 0.558 17.1% 0.318 0.396 27.0% 0.616 20.8%
ReAct | react | 0.360 0.475 41.1% 0.374 0.450 8.0% 0.658 13.1%
SelfAsk | self_ask | 0.364 0.481 39.6% 0.334 0.416 21.0% 0.638 16.6%
ITER-RETEGEN | iter_retgen | 0.450 0.572 12.9% 0.328 0.436 23.2% 0.692 7.5%
BlendFilter | blendfilter | 0.508 0.624 - 0.404 0.470 - 0.744 -
""",
    },
    "blendfilter:table2": {
        "title": "BlendFilter and baselines with Vicuna 1.5-13b",
        "lm": "Vicuna 1.5-13b, three examples in the prompt",
        "corpus": f"ColBERTv2 over the {_ABSTRACTS}",
        "scale": "1",
        "columns": _THREE_SETS,
        "rows": """
Direct, without retrieval | direct retriever=none | 0.202 0.267 96.0% 0.246 0.288 16.3% 0.604 11.3%
CoT, without retrieval | cot retriever=none | 0.228 0.344 73.7% 0.190 0.279 50.5% 0.660 1.8%
Direct | direct | 0.336 0.443 17.9% 0.210 0.284 36.2% 0.624 7.7%
CoT | cot | 0.362 0.488 9.4% 0.206 0.302 38.8% 0.646 4.0%
ReAct | react | 0.332 0.463 19.3% 0.216 0.323 32.4% 0.588 14.3%
SelfAsk | self_ask | 0.361 0.469 9.7% 0.250 0.376 14.4% 0.618 8.7%
ITER-RETEGEN | iter_retgen | 0.366 0.484 8.2% 0.252 0.3551 13.5% 0.668 0.6%
BlendFilter | blendfilter | 0.396 0.527 - 0.286 0.378 - 0.672 -
""",
    },
    "blendfilter:table3": {
        "title": "BlendFilter and baselines with Qwen-7b",
        "lm": "Qwen-7b, three examples in the prompt",
        "corpus": f"ColBERTv2 over the {_ABSTRACTS}",
        "scale": "1",
        "columns": _THREE_SETS,
        "rows": """
Direct, without retrieval | direct retriever=none | 0.144 0.238 118.1% 0.182 0.244 31.9% 0.630 4.1%
CoT, without retrieval | cot retriever=none | 0.150 0.245 109.3% 0.180 0.246 33.3% 0.658 -0.3%
Direct | direct | 0.180 0.310 74.4% 0.084 0.200 185.7% 0.572 14.6%
CoT | cot | 0.206 0.305 52.4% 0.210 0.292 14.3% 0.604 8.6%
ReAct | react | 0.142 0.239 121.1% 0.158 0.241 51.9% 0.592 10.8%
SelfAsk | self_ask | 0.206 0.307 52.4% 0.106 0.154 126.4% 0.596 10.1%
ITER-RETEGEN | iter_retgen | 0.244 0.364 28.7% 0.200 0.297 20.0% 0.612 7.2%
BlendFilter | blendfilter | 0.314 0.442 - 0.240 0.312 - 0.656 -
""",
    },
    "blendfilter:table4": {
        "title": "BlendFilter and baselines with BM25 on HotPotQA",
        "lm": _GPT,
        "corpus": f"BM25 over the {_ABSTRACTS}",
        "scale": "1",
        "columns": _HOTPOT,
        "rows": """
Direct, without retrieval | direct retriever=none | 0.304 0.410
CoT, without retrieval | cot retriever=none | 0.302 0.432
Direct | direct | 0.342 0.462
CoT | cot | 0.348 0.470
ReAct | react | 0.280 0.371
SelfAsk | self_ask | 0.290 0.393
ITER-RETEGEN | iter_retgen | 0.356 0.488
BlendFilter | blendfilter | 0.420 0.547
""",
    },
    "blendfilter:table5": {
        "title": "BlendFilter without one of its queries, on HotPotQA",
        "lm": _GPT,
        "corpus": f"ColBERTv2 and BM25 over the {_ABSTRACTS}; run it once with each",
        "scale": "1",
        "columns": _HOTPOT,
        "rows": """
BlendFilter, ColBERTv2 | blendfilter | 0.508 0.624
w/o q, ColBERTv2 | blendfilter original=False | 0.476 0.604
w/o q_ex, ColBERTv2 | blendfilter external=False | 0.442 0.565
w/o q_in, ColBERTv2 | blendfilter internal=False | 0.496 0.613
BlendFilter, BM25 | blendfilter | 0.420 0.547
w/o q, BM25 | blendfilter original=False | 0.410 0.532
w/o q_ex, BM25 | blendfilter external=False | 0.388 0.506
w/o q_in, BM25 | blendfilter internal=False | 0.398 0.514
""",
    },
    "blendfilter:fig2": {
        "title": "Retrieval after knowledge filtering, on HotPotQA",
        "lm": _GPT,
        "corpus": f"ColBERTv2 and BM25 over the {_ABSTRACTS}; run it once with each",
        "scale": "1",
        "note": "An image. The text says that BlendFilter is best in all three with both retrievers.",
        "columns": """
Precision | hotpotqa:blendfilter | precision_evidence
Recall | hotpotqa:blendfilter | recall_evidence
S-Precision | hotpotqa:blendfilter | s_precision_evidence
""",
        "rows": """
Direct retrieval | cot |
ITER-RETEGEN | iter_retgen |
BlendFilter | blendfilter |
""",
    },
    "blendfilter:fig3": {
        "title": "Number of retrieved passages, on HotPotQA",
        "lm": _GPT,
        "corpus": f"ColBERTv2 over the {_ABSTRACTS}",
        "scale": "1",
        "note": "An image. K from 3 to 8; both first rise and then fall a little, and BlendFilter gains more. At K = 5 "
        "the figures are those of Table 1.",
        "columns": _HOTPOT,
        "rows": """
ITER-RETEGEN, K = 3 | iter_retgen k=3 |
ITER-RETEGEN, K = 4 | iter_retgen k=4 |
ITER-RETEGEN, K = 5 | iter_retgen k=5 | 0.450 0.572
ITER-RETEGEN, K = 6 | iter_retgen k=6 |
ITER-RETEGEN, K = 7 | iter_retgen k=7 |
ITER-RETEGEN, K = 8 | iter_retgen k=8 |
BlendFilter, K = 3 | blendfilter k=3 |
BlendFilter, K = 4 | blendfilter k=4 |
BlendFilter, K = 5 | blendfilter k=5 | 0.508 0.624
BlendFilter, K = 6 | blendfilter k=6 |
BlendFilter, K = 7 | blendfilter k=7 |
BlendFilter, K = 8 | blendfilter k=8 |
""",
    },
    "blendfilter:fig4": {
        "title": "The best of three sampled answers, on HotPotQA",
        "lm": f"{_GPT}; one answer each with top_p 0, 0.5 and 1",
        "corpus": f"ColBERTv2 over the {_ABSTRACTS}",
        "scale": "1",
        "note": "An image. All gain by three answers, BlendFilter the least; it is best with one and with three.",
        "columns": _HOTPOT,
        "rows": """
CoT, one answer | cot |
ReAct, one answer | react |
SelfAsk, one answer | self_ask |
ITER-RETEGEN, one answer | iter_retgen |
BlendFilter, one answer | blendfilter |
CoT, three answers | cot top_p=0,0.5,1 |
ReAct, three answers | react top_p=0,0.5,1 |
SelfAsk, three answers | self_ask top_p=0,0.5,1 |
ITER-RETEGEN, three answers | iter_retgen top_p=0,0.5,1 |
BlendFilter, three answers | blendfilter top_p=0,0.5,1 |
""",
    },
    "qpaug:table2": {
        "title": "QPaug and baselines, F1",
        "lm": "GPT-3.5",
        "corpus": f"Contriever over {_DPR}",
        "scale": "100",
        "columns": _QPAUG_F1,
        "rows": """
No retrieval | direct retriever=none | 37.9 27.1 35.3
Chain-of-thoughts | cot retriever=none | 38.2 28.2 35.5
Rerank | rerank | 38.0 26.6 33.2
Self-verification | self_verification retriever=none verifications=10 | 38.4 30.8 35.9
SuRE | sure | 40.4 32.6 33.6
QPaug | qpaug | 44.6 35.5 45.1
""",
    },
    "qpaug:table3": {
        "title": "QPaug over three retrievers and three LMs, Rouge and F1",
        "lm": "by row; GPT-4 augments the questions throughout",
        "corpus": f"by row, over {_DPR}; run it once with each",
        "scale": "100",
        "note": "The paper has data sets for rows and retrievers for columns.",
        "columns": """
NQ Rouge | nq:qpaug | rouge_l
NQ F1 | nq:qpaug | f1
2wiki Rouge | 2wikimultihopqa:qpaug | rouge_l
2wiki F1 | 2wikimultihopqa:qpaug | f1
Hotpot Rouge | hotpotqa:qpaug | rouge_l
Hotpot F1 | hotpotqa:qpaug | f1
Average Rouge
Average F1
""",
        "rows": """
GPT-4, no retrieval | direct retriever=none | 37.0 42.0 26.8 37.6 33.9 42.2 32.6 40.6
GPT-4, SBERT | qpaug augment=False generate=False | 42.8 46.0 27.8 36.5 39.2 49.0 36.6 43.8
GPT-4, SBERT + QPaug | qpaug | 43.7 54.0 37.3 49.1 44.9 54.6 42.0 52.6
GPT-4, ANCE | qpaug augment=False generate=False | 40.8 45.0 25.0 33.6 34.6 43.6 33.5 40.7
GPT-4, ANCE + QPaug | qpaug | 43.9 52.0 36.7 47.2 42.4 52.0 41.0 50.4
GPT-4, Contriever | qpaug augment=False generate=False | 39.4 43.7 24.6 32.6 34.0 43.2 32.7 39.8
GPT-4, Contriever + QPaug | qpaug | 42.4 52.0 35.2 47.2 43.7 53.5 40.4 50.9
GPT-3.5, no retrieval | direct retriever=none | 35.1 37.9 19.7 27.1 27.4 35.3 27.4 33.4
GPT-3.5, SBERT | qpaug augment=False generate=False | 35.5 40.3 20.2 30.2 28.3 38.3 28.0 36.1
GPT-3.5, SBERT + QPaug | qpaug | 40.7 44.2 24.0 35.3 38.0 44.9 34.2 41.8
GPT-3.5, ANCE | qpaug augment=False generate=False | 35.5 39.8 20.0 26.0 29.0 34.8 28.2 33.5
GPT-3.5, ANCE + QPaug | qpaug | 40.9 45.4 24.6 35.7 37.3 44.4 34.3 41.5
GPT-3.5, Contriever | qpaug augment=False generate=False | 35.2 37.9 20.3 26.4 28.2 33.7 27.9 32.7
GPT-3.5, Contriever + QPaug | qpaug | 41.6 44.6 24.5 35.5 38.4 45.1 34.8 41.7
LLaMA-2-7b-chat, no retrieval | direct retriever=none | 13.0 15.5 16.7 20.3 16.1 18.6 15.3 18.1
LLaMA-2-7b-chat, SBERT | qpaug augment=False generate=False | 24.0 27.5 20.9 23.2 22.5 27.5 22.5 26.1
LLaMA-2-7b-chat, SBERT + QPaug | qpaug | 29.5 34.1 22.0 26.9 24.9 33.0 25.5 31.3
LLaMA-2-7b-chat, ANCE | qpaug augment=False generate=False | 23.3 26.5 20.6 23.0 21.5 26.9 21.8 25.5
LLaMA-2-7b-chat, ANCE + QPaug | qpaug | 28.1 32.4 22.5 25.8 22.2 29.3 24.3 29.1
LLaMA-2-7b-chat, Contriever | qpaug augment=False generate=False | 20.8 24.7 20.3 22.5 20.1 24.4 20.4 23.9
LLaMA-2-7b-chat, Contriever + QPaug | qpaug | 27.9 32.0 22.3 25.9 23.3 31.0 24.5 29.6
""",
    },
    "qpaug:table4": {
        "title": "Answer recall at 10 with question augmentation",
        "lm": "by row, for the plans",
        "corpus": f"by row, over {_DPR}; run it once with each",
        "scale": "100",
        "note": "The gain over the row without augmentation stands behind each figure in the paper, and is left out.",
        "columns": """
NQ | nq:qpaug | answer_recall@10
2wiki | 2wikimultihopqa:qpaug | answer_recall@10
Hotpot | hotpotqa:qpaug | answer_recall@10
""",
        "rows": """
SBERT | qpaug augment=False generate=False | 63.41 27.90 47.47
SBERT + Qaug by LLaMA-2-7b-chat | qpaug generate=False | 63.74 29.21 52.07
SBERT + Qaug by LLaMA-2-70b-chat | qpaug generate=False | 66.10 33.56 56.89
SBERT + Qaug by GPT-3.5 | qpaug generate=False | 64.98 30.37 51.06
SBERT + Qaug by GPT-4 | qpaug generate=False | 70.20 38.68 62.08
ANCE | qpaug augment=False generate=False | 60.43 22.57 38.81
ANCE + Qaug by LLaMA-2-7b-chat | qpaug generate=False | 62.91 24.04 43.88
ANCE + Qaug by LLaMA-2-70b-chat | qpaug generate=False | 64.58 26.18 46.63
ANCE + Qaug by GPT-3.5 | qpaug generate=False | 62.55 22.91 40.85
ANCE + Qaug by GPT-4 | qpaug generate=False | 66.68 27.31 49.59
Contriever | qpaug augment=False generate=False | 52.48 21.26 40.54
Contriever + Qaug by LLaMA-2-7b-chat | qpaug generate=False | 58.10 25.00 47.78
Contriever + Qaug by LLaMA-2-70b-chat | qpaug generate=False | 62.18 29.04 53.19
Contriever + Qaug by GPT-3.5 | qpaug generate=False | 52.76 21.51 42.74
Contriever + Qaug by GPT-4 | qpaug generate=False | 60.38 28.95 53.69
""",
    },
    **{
        f"qpaug:table{n}": {
            "title": f"A passage from memory by {lm}, F1",
            "lm": lm,
            "corpus": f"by row, over {_DPR}; run it once with each",
            "scale": "100",
            "columns": _QPAUG_F1,
            "rows": "\n".join(
                f"{name}{add} | qpaug augment=False{setting} | {figures}"
                for name, pair in zip(("SBERT", "ANCE", "Contriever"), pairs, strict=True)
                for add, setting, figures in zip(("", " + Pgen"), (" generate=False", ""), pair, strict=True)
            ),
        }
        for n, lm, pairs in (
            (
                5,
                "GPT-4",
                (
                    ("46.0 36.5 49.0", "47.6 47.8 53.0"),
                    ("45.0 33.6 43.6", "47.8 45.6 47.4"),
                    ("43.7 32.6 43.2", "47.2 45.2 47.7"),
                ),
            ),
            (
                6,
                "GPT-3.5",
                (
                    ("40.3 30.2 38.3", "44.0 34.2 43.1"),
                    ("39.8 26.0 34.8", "44.2 35.2 44.1"),
                    ("37.9 26.4 33.7", "43.0 34.8 44.6"),
                ),
            ),
            (
                7,
                "LLaMA-2-7b-chat",
                (
                    ("27.5 23.2 27.5", "31.2 26.2 30.1"),
                    ("26.5 23.0 26.9", "28.9 25.6 29.0"),
                    ("24.7 22.5 24.4", "29.7 26.2 29.0"),
                ),
            ),
        )
    },
    "qpaug:fig2": {
        "title": "Gain in recall at K by question augmentation",
        "lm": "GPT-4",
        "corpus": f"Contriever over {_DPR}",
        "scale": "100",
        "note": "An image, of the gains; K is 10, 50 and 100, and the gain is largest at 10, where the figures are "
        "those of Table 4.",
        "columns": "".join(
            f"{name} R@{k} | {task}:qpaug | answer_recall@{k}\n"
            for name, task in (("NQ", "nq"), ("2wiki", "2wikimultihopqa"), ("Hotpot", "hotpotqa"))
            for k in (10, 50, 100)
        ),
        "rows": """
Contriever | qpaug augment=False generate=False k=100 | 52.48 - - 21.26 - - 40.54 - -
Contriever + Qaug | qpaug generate=False k=100 | 60.38 - - 28.95 - - 53.69 - -
""",
    },
    "qpaug:fig3": {
        "title": "F1 by the number of passages, on 2wiki",
        "lm": "GPT-4, GPT-3.5 and LLaMA-2-7b-chat",
        "corpus": f"SBERT over {_DPR}",
        "scale": "100",
        "note": "An image; the text says that a passage from memory helps at each number of passages and with each LM. "
        "The numbers of passages cannot be read from the text: 5, 10 and 20 are ours.",
        "columns": "F1 | 2wikimultihopqa:qpaug | f1",
        "rows": """
RAG, 5 passages | qpaug augment=False generate=False k=5 |
QPaug, 5 passages | qpaug augment=False k=5 |
RAG, 10 passages | qpaug augment=False generate=False k=10 |
QPaug, 10 passages | qpaug augment=False k=10 |
RAG, 20 passages | qpaug augment=False generate=False k=20 |
QPaug, 20 passages | qpaug augment=False k=20 |
""",
    },
    "chain_of_rewrite:table1": {
        "title": "Chain-of-Rewrite and baselines",
        "lm": "Vicuna-13B-v1.5; readers by row",
        "corpus": f"BM25 over {_DPR}",
        "scale": "100",
        "columns": _REWRITE_SETS,
        "rows": """
Vicuna-13B, closed book | direct retriever=none | 22.1 29.4 23.7 35.9 50.1 56.9 30.2
GPT-3.5-Turbo, closed book | direct retriever=none | 29.4 40.7 22.8 40.0 54.8 65.5 37.9
GENREAD (InstructGPT) | genread retriever=none | 31.1 44.8 19.1 36.9 59.3 70.7 46.0
Vicuna-13B + BM25 | direct | 25.5 34.9 20.2 34.2 53.7 64.0 34.6
Vicuna-13B + BM25 + UPR | upr upr=? | 28.9 39.2 22.4 35.9 56.5 67.0 39.0
GPT-3.5-Turbo + BM25 | direct | 33.2 42.8 23.3 38.2 57.6 68.7 43.9
Self-Ask (Davinci-002) | self_ask | 26.4 36.5 15.1 29.5 59.4 68.5 33.6
Vicuna-13B w/ DAS | das upr=? | 27.1 38.5 23.4 35.8 54.9 62.3 31.2
ALLIES (GPT-3.5-Turbo) | allies | 38.0 47.8 28.2 45.6 61.4 70.8 37.6
Chain-of-Rewrite (Reader=Vicuna-13B) | chain_of_rewrite | 34.0 45.3 24.8 40.4 59.3 70.4 48.0
Chain-of-Rewrite (Reader=GPT-3.5-Turbo) | chain_of_rewrite | 40.2 49.3 27.1 41.4 61.6 71.7 50.2
""",
    },
    "chain_of_rewrite:table2": {
        "title": "Chain-of-Rewrite without parts of it",
        "lm": "Vicuna-13B-v1.5",
        "corpus": f"BM25 over {_DPR}",
        "scale": "100",
        "columns": f"{_REWRITE_SETS}PopQA EM | popqa:chain_of_rewrite | em\nPopQA F1 | popqa:chain_of_rewrite | f1\n",
        "rows": """
Chain-of-Rewrite | chain_of_rewrite | 34.0 45.3 24.8 40.4 59.3 70.4 48.0 41.7 49.2
w/o refine query feedback | chain_of_rewrite query_feedback=False | 33.6 45.0 24.4 39.7 58.7 69.7 47.4 41.5 48.9
w/o rerank documents feedback | chain_of_rewrite rerank_feedback=False | 32.4 43.3 23.9 39.9 58.9 70.3 47.0 40.6 47.9
w/o chain-of-rewrite documents | chain_of_rewrite document_rewriting=False | 29.5 39.2 23.1 38.0 58.3 69.4 48.2 40.4 47.4
w/o chain-of-rewrite question | chain_of_rewrite question_rewriting=off | 29.9 40.4 23.7 38.6 56.7 67.5 38.4 33.0 39.6
Vicuna-13B + BM25 | direct | 25.5 34.9 20.2 34.2 53.7 64.0 34.6 28.8 34.3
""",  # noqa: E501  # a row is one line
    },
    "chain_of_rewrite:table3": {
        "title": "Recall of the retrieval",
        "lm": "Vicuna-13B-v1.5",
        "corpus": f"BM25 over {_DPR}",
        "scale": "100",
        "columns": "".join(
            f"{name} R@{k} | {task}:chain_of_rewrite | answer_recall@{k}\n"
            for name, task in (("PopQA", "popqa"), ("NQ", "nq"), ("WebQ", "webquestions"), ("TriviaQA", "triviaqa"))
            for k in (5, 20)
        ),
        "rows": """
Baseline | direct k=20 | 37.41 50.12 49.25 67.45 50.30 68.11 68.67 77.70
Direct Expansion | chain_of_rewrite question_rewriting=direct rerank_feedback=False query_feedback=False document_rewriting=False | 48.02 52.11 62.35 75.10 61.12 73.87 75.95 80.71
Chain-of-Rewrite | chain_of_rewrite rerank_feedback=False query_feedback=False document_rewriting=False | 59.80 65.71 63.57 77.40 61.71 74.51 76.81 81.31
""",  # noqa: E501  # a row is one line
    },
    "chain_of_rewrite:table4": {
        "title": "Accuracy of the ranking",
        "lm": "Vicuna-13B-v1.5",
        "corpus": f"BM25 over {_DPR}",
        "scale": "100",
        "columns": "".join(
            f"{name} Top-{k} | {task}:chain_of_rewrite | top_k_accuracy@{k}\n"
            for name, task in (("NQ", "nq"), ("WebQA", "webquestions"), ("TriviaQA", "triviaqa"))
            for k in (1, 5, 10)
        ),
        "rows": """
BM25 | direct k=10 | 24.02 47.65 60.30 25.59 51.13 62.75 45.41 64.87 72.10
BM25 + Rerank Feedback | chain_of_rewrite m=100 question_rewriting=off document_rewriting=False query_feedback=False | 40.64 65.87 72.94 37.11 65.40 73.13 59.81 76.91 79.85
BM25 + UPR | chain_of_rewrite m=100 question_rewriting=off document_rewriting=False query_feedback=False rerank_feedback=False upr=? | 36.12 63.57 72.05 36.91 61.71 68.90 61.95 76.81 79.46
BM25 + UPR + Rerank Feedback | chain_of_rewrite m=100 question_rewriting=off document_rewriting=False query_feedback=False upr=? | 46.76 69.20 75.01 43.45 66.24 72.39 66.46 78.08 80.49
""",  # noqa: E501  # a row is one line
    },
    "chain_of_rewrite:fig6": {
        "title": "Accuracy of the ranking by category of question, on PopQA",
        "lm": "Vicuna-13B-v1.5",
        "corpus": f"BM25 over {_DPR}",
        "scale": "100",
        "note": "An image; the text says that rerank feedback gains by category. Ours here is over all of them; the "
        "run's own table has it by type.",
        "columns": """
Top-1 | popqa:chain_of_rewrite | top_k_accuracy@1
Top-10 | popqa:chain_of_rewrite | top_k_accuracy@10
""",
        "rows": """
BM25 | direct k=10 |
BM25 + Rerank Feedback | chain_of_rewrite m=100 question_rewriting=off document_rewriting=False query_feedback=False |
BM25 + UPR | chain_of_rewrite m=100 question_rewriting=off document_rewriting=False query_feedback=False rerank_feedback=False upr=? |
BM25 + UPR + Rerank Feedback | chain_of_rewrite m=100 question_rewriting=off document_rewriting=False query_feedback=False upr=? |
""",  # noqa: E501  # a row is one line
    },
    "migres:table1": {
        "title": "Preliminary study: extraction of information",
        "lm": "GPT-3.5-turbo",
        "corpus": "passages of the data sets with those of BM25, 500 questions of the training sets",
        "scale": "100",
        "note": "The act of signatures.extract alone, on passages that eval.papers.study prepares; questions without "
        "known steps are left out.",
        "columns": "".join(
            f"{name} {label} | {task}:study | {metric}\n"
            for name, task in (("WikiHop", "2wikimultihopqa"), ("Musique", "musique"))
            for label, metric in (
                ("Prec.", "precision"),
                ("Rec.", "recall"),
                ("Prec. after entailment", "precision_entailed"),
                ("Rec. after entailment", "recall_entailed"),
                ("Useful", "useful"),
            )
        ),
        "rows": """
Extraction | study_extraction | 89.3 72.0 94.8 72.0 96.6 91.8 76.1 94.6 74.2 94.3
""",
    },
    "migres:table2": {
        "title": "Preliminary study: missing information",
        "lm": "GPT-3.5-turbo",
        "corpus": "sub-questions with their answers, all or some of them, 500 questions of the training sets",
        "scale": "100",
        "note": "The act of signatures.detect alone, on facts that eval.papers.study prepares; questions without known "
        "steps are left out.",
        "columns": "".join(
            f"{name} {label} | {task}:study | {metric}\n"
            for name, task in (("WikiHop", "2wikimultihopqa"), ("Musique", "musique"))
            for label, metric in (("All Acc", "migres_em"), ("Partial Acc", "partial"), ("Partial Match", "match"))
        ),
        "rows": """
Missing information | study_missing retriever=none | 91.2 98.4 98.0 86.8 92.8 96.8
""",
    },
    "migres:table3": {
        "title": "MIGRES and baselines",
        "lm": "GPT-3.5-1106; the few-shot baselines are from their papers",
        "corpus": "BM25 over Wikipedia of 2017 (Hotpot), 2018 (WikiHop, NQ, TriviaQ) and 2021 (Musique, StrategyQA)",
        "scale": "100",
        "columns": """
WikiHop EM | 2wikimultihopqa:migres | migres_em
WikiHop Acc | 2wikimultihopqa:migres | acc_judge
Hotpot EM | hotpotqa:migres | migres_em
Hotpot Acc | hotpotqa:migres | acc_judge
Musique EM | musique:migres | migres_em
Musique Acc | musique:migres | acc_judge
NQ EM | nq:migres | migres_em
NQ Acc | nq:migres | acc_judge
TriviaQ EM | triviaqa:migres | migres_em
TriviaQ Acc | triviaqa:migres | acc_judge
StrategyQA EM | strategyqa:migres | migres_em
StrategyQA Acc | strategyqa:migres | acc_judge
""",
        "rows": """
VANILLA | alce state=none | 24.5 45.5 27.5 60.5 10.5 26.0 33.5 72.5 57.5 87.5 62.9 62.9
VANILLA-s | retrieve_read state=none | 26.5 48.5 28.0 62.0 11.5 27.5 34.5 75.5 59.0 88.0 65.5 65.5
SUMM | alce state=none mode=summ | 25.5 52.0 25.5 56.0 10.0 29.5 32.5 72.5 56.5 84.5 62.9 62.9
SNIPPET | alce state=none mode=snippet | 26.0 50.5 29.5 61.5 10.5 27.5 33.0 69.0 57.5 87.5 62.0 62.0
RERANK | alce state=none mode=rerank | 28.5 56.0 30.0 63.0 12.5 30.0 36.5 77.0 59.0 89.5 65.9 65.9
MIGRES | migres state=none | 33.6 58.5 38.0 66.6 18.6 32.8 43.0 80.0 61.0 91.0 73.4 73.4
MIGRES, oracle corpus | migres state=none retriever=oracle | 40.1 65.9 38.6 67.2 19.4 33.2 43.5 79.0 60.5 91.0 72.1 72.1
ITRG | itrg | 29.8 - 33.4 - - - 33.8 - 77.8 - - -
VTG | vtg | 41.5 - - - - - 63.0 - - - - -
ReAct | react | 28.0 45.9 24.9 61.1 23.4 37.9 - - - - 66.9 66.9
Self-Ask | self_ask | 37.3 55.9 36.8 64.8 27.6 42.9 - - - - 70.2 70.2
ITER-RETGEN | iter_retgen | 34.9 58.1 44.1 71.2 26.4 41.0 - - - - 73.0 73.0
MIGRES* | migres state=? | 47.6 61.2 46.8 68.6 19.6 34.0 47.0 78.0 63.0 91.5 74.2 74.2
MIGRES*, oracle corpus | migres state=? retriever=oracle | 54.0 71.0 49.4 72.4 20.8 34.6 48.0 80.0 62.5 92.0 72.9 72.9
""",
    },
    "migres:table4": {
        "title": "Cost per question",
        "lm": "GPT-3.5-1106; the few-shot baselines are from their papers",
        "corpus": "as in Table 3",
        "scale": "1",
        "note": "Passages are those shown to the LM per iteration.",
        "columns": "".join(
            f"{name} # API | {task}:migres | lm_calls\n{name} # Iter | {task}:migres | iterations\n"
            f"{name} # Passages | {task}:migres | passages_shown\n"
            for name, task in (
                ("WikiHop", "2wikimultihopqa"),
                ("Hotpot", "hotpotqa"),
                ("Musique", "musique"),
                ("NQ", "nq"),
                ("TriviaQ", "triviaqa"),
                ("StrategyQA", "strategyqa"),
            )
        ),
        "rows": """
ReAct | react | 3.0 3.0 15.0 2.9 2.9 14.4 2.9 2.9 14.3 - - - - - - 2.9 2.9 14.3
Self-Ask | self_ask | 3.2 3.2 15.9 3.0 3.0 14.8 3.2 3.2 16.0 - - - - - - 3.2 3.2 16.0
ITER_RETGEN | iter_retgen | 2.0 2.0 5.0 2.0 2.0 5.0 2.0 2.0 5.0 - - - - - - 2.0 2.0 5.0
MIGRES | migres state=none | 8.4 2.5 1.3 9.5 2.7 3.1 6.4 1.9 2.3 3.5 1.3 1.3 3.4 1.1 1.3 4.0 1.3 1.3
MIGRES* | migres state=? | 8.1 2.4 1.4 11.9 3.4 1.8 5.8 1.8 2.6 4.9 1.3 1.4 4.0 1.3 1.4 4.7 1.5 1.4
""",
    },
    "migres:table5": {
        "title": "Ways to compress passages",
        "lm": "GPT-3.5-1106",
        "corpus": "as in Table 3",
        "scale": "100",
        "note": "# Tokens are those of external knowledge per question; ours are words between blanks.",
        "columns": "".join(
            f"{name} EM | {task}:migres | migres_em\n{name} Acc | {task}:migres | acc_judge\n"
            f"{name} # Tokens | {task}:migres | external_tokens\n"
            for name, task in (("WikiHop", "2wikimultihopqa"), ("Musique", "musique"), ("NQ", "nq"))
        ),
        "rows": """
MIGRES | migres state=none | 33.6 58.5 733 18.0 31.5 1224 43.0 80.0 333
w/o Sentence Filtering | migres state=none compression=off | 33.0 58.0 877 19.0 33.6 1697 43.5 76.5 404
w SUMM | migres state=none compression=summary | 26.0 54.2 1249 12.0 30.0 1898 40.0 73.5 522
w SNIPPET | migres state=none compression=snippet | 26.6 52.2 1095 12.5 29.5 1775 42.5 74.0 454
""",
    },
    "migres:table6": {
        "title": "With and without what the LM knows",
        "lm": "by row",
        "corpus": "as in Table 3",
        "scale": "100",
        "note": "With the threshold 1.0, on the scale of the paper's reranker.",
        "columns": "".join(
            f"{name} EM | {task}:migres | migres_em\n{name} Acc | {task}:migres | acc_judge\n"
            f"{name} # Avg. Iter | {task}:migres | iterations\n"
            for name, task in (("WikiHop", "2wikimultihopqa"), ("Musique", "musique"), ("NQ", "nq"))
        ),
        "rows": """
GPT-3.5-1106 | migres state=none threshold=1.0 | 34.8 54.4 2.53 16.8 31.6 2.96 42.5 73.5 1.28
GPT-3.5-1106 w/o GPT knowledge | migres state=none threshold=1.0 knowledge=False | 32.0 53.8 2.96 15.6 30.0 2.95 41.5 72.5 1.51
GPT-4-0613 | migres state=none threshold=1.0 | 50.0 68.0 2.76 22.4 39.8 2.85 44.5 77.5 1.31
GPT-4-0613 w/o GPT knowledge | migres state=none threshold=1.0 knowledge=False | 46.6 63.8 3.03 21.4 41.8 2.80 45.0 75.5 1.50
""",  # noqa: E501  # a row is one line
    },
    "migres:table7": {
        "title": "Accuracy of what the LM knows",
        "lm": "by row",
        "corpus": "as in Table 3",
        "scale": "100",
        "note": "The share of the passages from memory, in the runs of Table 6, that have an answer in them, of the "
        "question or of a step to it; n counts the questions for which the LM wrote some.",
        "columns": """
WikiHop | 2wikimultihopqa:migres | knowledge_accuracy
Musique | musique:migres | knowledge_accuracy
NQ | nq:migres | knowledge_accuracy
""",
        "rows": """
GPT-3.5-1106 | migres state=none threshold=1.0 | 45.5 54.6 24.7
GPT-4-0613 | migres state=none threshold=1.0 | 87.7 77.5 32.0
""",
    },
    "migres:table8": {
        "title": "With Llama-2-13B-chat, Acc",
        "lm": "Llama-2-13B-chat, two examples in the prompt; the baselines are from Shao et al. 2023",
        "corpus": "as in Table 3",
        "scale": "100",
        "columns": """
WikiHop | 2wikimultihopqa:migres | acc_judge
Hotpot | hotpotqa:migres | acc_judge
StrategyQA | strategyqa:migres | acc_judge
Musique | musique:migres | acc_judge
NQ | nq:migres | acc_judge
TriviaQ | triviaqa:migres | acc_judge
""",
        "rows": """
Direct | direct | 38.6 51.8 63.3 - - -
ReAct | react | 27.5 36.0 61.5 - - -
Self-Ask | self_ask | 38.5 45.8 63.3 - - -
ITER-RETGEN | iter_retgen | 48.0 57.8 67.2 - - -
MIGRES* | migres state=? | 52.0 56.4 64.6 28.6 64.0 76.5
""",
    },
    "migres:table9": {
        "title": "With a stronger retriever",
        "lm": "GPT-3.5-1106",
        "corpus": "by row: BM25, and its 50 passages with 50 of bge_base; run it once with each",
        "scale": "100",
        "columns": """
WikiHop EM | 2wikimultihopqa:migres | migres_em
WikiHop Acc | 2wikimultihopqa:migres | acc_judge
Musique EM | musique:migres | migres_em
Musique Acc | musique:migres | acc_judge
NQ EM | nq:migres | migres_em
NQ Acc | nq:migres | acc_judge
""",
        "rows": """
MIGRES, BM25 | migres state=none | 33.6 58.5 18.6 32.8 43.0 80.0
MIGRES, Mixture | migres state=none m=100 | 32.0 57.0 21.0 35.4 41.0 74.5
""",
    },
    "migres:table10": {
        "title": "What the stronger retriever finds in the first search",
        "lm": "none for RR and RC; GPT-3.5-1106 for WR",
        "corpus": "as in Table 9",
        "scale": "1",
        "note": "RR: passages above the threshold, Mixture to BM25. RC: positive to negative ones. WR: questions won, "
        "less those lost. --retriever is BM25, --set against=SPEC the Mixture; made and counted by eval.papers.study.",
        "columns": "".join(
            f"{name} {label} | {task}:migres | {metric}\n"
            for name, task in (("WikiHop", "2wikimultihopqa"), ("Musique", "musique"), ("NQ", "nq"))
            for label, metric in (("RR", "rr"), ("RC (BM25)", "rc"), ("RC (Mixture)", "rc_against"), ("WR", "wr"))
        ),
        "rows": """
First search | study_first_search against=? | 1.16 3.32 2.48 9/500 1.18 1.48 1.94 26/500 1.3 1.15 0.58 -3/200
""",
    },
}
