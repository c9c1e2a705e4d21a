"""`python -m tests.agreement`: print the tables; with `--write`, write the page and the lists of what is known to be wrong."""

import sys

from . import comparison, reports

if "--write" in sys.argv[1:]:
    reports.write()
    comparison.write([reports.section()])
else:
    print("\n".join([*(comparison.section(name) for name in comparison.SETS), reports.section()]))
