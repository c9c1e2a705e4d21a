"""`python -m tests.agreement [--corpus DIR] [--write]`: print the tables; or write the page and the lists of what is known."""

import argparse
import os

from . import comparison, reports

parser = argparse.ArgumentParser(prog="python -m tests.agreement", description=__doc__)
parser.add_argument(
    "--corpus",
    metavar="DIR",
    help=f"folder of the larger exports, compared too (else: {comparison.CORPUS_FOLDER} of the environment)",
)
parser.add_argument("--only", metavar="SET", choices=(*comparison.SETS, comparison.CORPUS), help="print this set alone")
parser.add_argument("--write", action="store_true", help="write docs/agreement.md and the lists beside this program")
given = parser.parse_args()
if given.corpus:
    os.environ[comparison.CORPUS_FOLDER] = given.corpus
if given.write:
    reports.write()
    comparison.write([reports.section()])
elif given.only:
    print(comparison.section(given.only))
else:
    sets = [*comparison.SETS, *([comparison.CORPUS] if comparison.corpus_folder() else [])]
    print("\n".join([*map(comparison.section, sets), reports.section()]))
