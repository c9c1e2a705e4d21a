"""Print how lint's verdicts agree with recorded answers of real parsers: `python -m tests.agreement`."""

from tests.agreement.comparison import HEADINGS, SETS, compare, models, table


def main() -> int:
    """Print the table and every row that disagrees; 1 where there is one."""
    print("\n".join(HEADINGS))
    disagreements = []
    for collection in SETS:
        if not models(collection):
            print(f"{collection:15} not on this machine")
            continue
        print("\n".join(table(collection)))
        for target, rows in compare(collection).items():
            disagreements += [(target, row) for row in rows if row.missed or row.false_alarm or row.names_another]
    for target, row in disagreements:
        said = f"refuses it at {row.operator or 'no node'}" if row.parser == "no" else "takes it"
        print(f"{target} {row.model}: the parser {said}, lint says {row.verdict}{f' at {row.named}' if row.named else ''}")
    print(f"{len(disagreements)} disagreements")
    return 1 if disagreements else 0


if __name__ == "__main__":
    raise SystemExit(main())
