"""`onnxfix rules`: list the rules."""

from __future__ import annotations

import json

import click

from onnxfix.cli._state import current_state


@click.command(name="rules")
@click.option("--select", metavar="CODES", multiple=True, help="Only rules that begin so, e.g. OFX1 (repeatable).")
@click.option("-t", "--target", "targets", metavar="TARGET", multiple=True, help="Only rules that concern this release.")
@click.option("--fixable", is_flag=True, help="Only rules that `repair` has a rewrite for.")
@click.option("-f", "--output-format", type=click.Choice(["table", "json", "markdown"]), default="table", show_default=True)
def command(select: tuple[str, ...], targets: tuple[str, ...], fixable: bool, output_format: str) -> None:
    """List the rules: code, name, family, severity, how safe their fixes are, what they find."""
    state = current_state()
    from onnxfix.report import reference
    from onnxfix.report.text import table_lines
    from onnxfix.rules.rule import all_rules
    from onnxfix.rules.select import Selection, check_prefixes
    from onnxfix.targets import resolve

    selection = Selection(check_prefixes(select, "--select"))
    rules = [rule for rule in all_rules() if rule.code in selection]
    if targets:
        chosen = resolve(targets)
        rules = [rule for rule in rules if any(reference.concerns(rule, target) for target in chosen)]
    if fixable:
        rules = [rule for rule in rules if rule.rewrites]
    if output_format == "json":
        click.echo(json.dumps([reference.rule_entry(rule) for rule in rules], indent=2))
    elif output_format == "markdown":
        click.echo(reference.markdown_table(reference.rules_rows(rules)), nl=False)
    else:
        state.out().lines(table_lines(reference.rules_rows(rules)))
