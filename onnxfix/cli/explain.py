"""`onnxfix explain WHAT`: a rule's page, an operator's support over the releases, or what a parser's message means."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any

import click

from onnxfix.cli._state import current_state
from onnxfix.errors import UsageError
from onnxfix.model.opsets import domain_of
from onnxfix.targets import all_targets, recorded_operators, resolve

if TYPE_CHECKING:
    from onnxfix.cli._messages import Match
    from onnxfix.report.console import Line

_OPERATORS_SHOWN = 6


@click.command(name="explain")
@click.argument("what", metavar='CODE|NAME|OPERATOR|"MESSAGE"')
@click.option("-t", "--target", "targets", metavar="TARGET", multiple=True, help="Only these releases (repeatable).")
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(what: str, targets: tuple[str, ...], output_format: str) -> None:
    """Explain a rule (OFX401, resize-mode), an operator (Resize), or what a parser said.

    \b
    onnxfix explain OFX401
    onnxfix explain Resize --target trt5.1..trt7.1
    onnxfix explain "Assertion failed: axis >= 0 && axis < nbDims"
    """  # noqa: D301  # click wants the character itself
    state = current_state()
    from onnxfix.report import reference
    from onnxfix.rules.rule import find_rule

    chosen = resolve(targets) if targets else all_targets()
    rule = find_rule(what)
    operators = [] if rule is not None else _operators(what)
    entry: dict[str, Any]
    lines: list[Line] = []
    if rule is not None:
        entry = {"kind": "rule", **reference.rule_entry(rule)}
        lines = reference.rule_lines(rule, chosen)
    elif operators:
        entry = {"kind": "operator", "operators": [reference.operator_entry(*key, chosen) for key in operators]}
        for key in operators:
            lines += [*reference.operator_lines(*key, chosen), ()]
        lines.pop()
    else:
        from onnxfix.cli._messages import find_messages

        matches = find_messages(what)
        if not matches:
            raise UsageError(_nothing(what))
        entry = {"kind": "message", "matches": [_match_entry(match) for match in matches]}
        for number, match in enumerate(matches):
            if not match.exact and (number == 0 or matches[number - 1].exact):
                lines += [("nearest on record:" if number == 0 else "like it on record:",), ()]
            lines += [*_match_lines(match), ()]
        lines.pop()
    if output_format == "json":
        click.echo(json.dumps(entry, indent=2))
    else:
        state.out().lines(lines)


def _operators(what: str) -> list[tuple[str, str]]:
    """(domain, operator) of every operator of that name, in any domain unless `what` names one."""
    domain, _, op = what.strip().rpartition("::")
    if not re.fullmatch(r"\w+", op):
        return []
    domain = domain_of(domain)
    known = [key for key in recorded_operators() if key[1].lower() == op.lower()]
    registered = {name for target in all_targets() for name in target.registered or ()}
    known += [("", name) for name in sorted(registered) if name.lower() == op.lower() and ("", name) not in known]
    if not known:
        # Only now is onnx needed: to tell an operator of which nothing is recorded from a slip of the pen.
        import onnx

        schemas = {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas()}
        known = sorted((space, name) for space, name in schemas if name.lower() == op.lower())
    return [key for key in known if key[0] == domain] if "::" in what else known


def _nothing(what: str) -> str:
    from onnxfix.rules.rule import all_rules

    words = [name for rule in all_rules() for name in (rule.code, rule.name)]
    words += [op for _, op in recorded_operators()]
    words += sorted({op for target in all_targets() for op in target.registered or ()})
    by_lower = {word.lower(): word for word in words}
    # Names of operators are short: a third of other letters is another name.
    close = difflib.get_close_matches(what.lower(), by_lower, n=1, cutoff=0.8)
    hint = f"; did you mean {by_lower[close[0]]!r}?" if close else ""
    return f"{what!r} is no rule, no operator, and like no parser message on record{hint}"


def _match_entry(match: Match) -> dict[str, Any]:
    return {
        "message": match.message,
        "score": round(match.score, 3),
        "exact": match.exact,
        "rule": match.rule,
        "operators": list(match.operators),
        "targets": list(match.targets),
        "evidence": match.evidence,
    }


def _match_lines(match: Match) -> list[Line]:
    from onnxfix.report.reference import fixes_of
    from onnxfix.report.text import count
    from onnxfix.rules.rule import load_rule

    rule = load_rule(match.rule)
    operators = match.operators
    shown = ", ".join(operators[:_OPERATORS_SHOWN])
    if len(operators) > _OPERATORS_SHOWN:
        shown += f" and {count(len(operators) - _OPERATORS_SHOWN, 'more operator')}"
    of = f" of {shown}" if operators else ""
    lines: list[Line] = [((match.message, "bold"),)]
    if match.targets:
        lines.append((f"  said by {', '.join(match.targets)}{of}",))
    lines.append(("  ", (f"{rule.code} {rule.name}", "bold"), f": {rule.summary}"))
    if len(operators) == 1:
        from onnxfix.rewrites.catalogue import candidates

        wanted = candidates(rule.rewrites, operators[0])
        fixes = [fix for fix in fixes_of(rule) if fix.rewrite in wanted]
    else:
        fixes = fixes_of(rule)
    lines += [(f"  fix: {fix.title}   [{fix.applicability}]",) for fix in fixes]
    lines.append((f"  evidence: {match.evidence}",))
    about = operators[0] if len(operators) == 1 else match.rule
    lines.append((f"  more: onnxfix explain {about}",))
    return lines
