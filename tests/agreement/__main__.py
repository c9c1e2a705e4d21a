"""`python -m tests.agreement [--corpus DIR] [--write]`: print the tables; with `--write`, write page and list of disagreements."""

import argparse
import os

from .comparison import CORPUS, CORPUS_FOLDER, SETS, corpus_folder, section, write

parser = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
parser.add_argument(
    "--corpus", metavar="DIR", help=f"folder of the larger exports, compared too (else: {CORPUS_FOLDER} of the environment)"
)
parser.add_argument("--only", metavar="SET", choices=(*SETS, CORPUS), help="print this set alone")
parser.add_argument("--write", action="store_true", help="write docs/agreement.md and tests/agreement/known_disagreements.tsv")
given = parser.parse_args()
if given.corpus:
    os.environ[CORPUS_FOLDER] = given.corpus
if given.write:
    write()
else:
    sets = [given.only] if given.only else [*SETS, *([CORPUS] if corpus_folder() else [])]
    print("\n".join(section(name) for name in sets))
