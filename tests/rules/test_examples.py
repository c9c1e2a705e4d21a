"""Every example in a rule file is a test."""

import pytest

from onnxfix.rules.rule import Example, Rule, all_rules
from onnxfix.testing import RuleTester

RULES = all_rules()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}") for rule in RULES for number, example in enumerate(rule.examples, 1)
]


# What OFX006 finds only an installed parser says; tests/engines/test_asking.py shows it.
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.code != "OFX006"], ids=lambda rule: rule.code)
def test_examples_of_a_rule_show_something(rule: Rule) -> None:
    RuleTester(rule).check_rule()


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example_holds(rule: Rule, example: Example) -> None:
    RuleTester(rule).check_example(example)


def test_rules_with_a_rewrite_name_every_rewrite_once() -> None:
    for rule in RULES:
        assert len(set(rule.rewrites)) == len(rule.rewrites), rule.code
