"""`python -m tests.agreement`: print the tables; with `--write`, write the page and the list of known disagreements."""

import sys

from .comparison import SETS, section, write

if "--write" in sys.argv[1:]:
    write()
else:
    print("\n".join(section(name) for name in SETS))
