"""`onnxfix env`: versions, GPU, what each command can do here and what is missing for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from onnxfix import __version__
from onnxfix.cli._state import current_state

if TYPE_CHECKING:
    from onnxfix.environment import Machine
    from onnxfix.report.console import Line


@click.command(name="env", short_help="Say what this machine has, and what is missing.")
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def command(context: click.Context, /, output_format: str) -> None:
    """Say which versions are installed, what each command can do here, how to get what is missing, and what does not fit."""
    from onnxfix.environment import abilities, mismatches, probe

    state = current_state()
    show = state.progress()
    if show is not None:
        show("looking at this machine")
    try:
        machine = probe()
    finally:
        if show is not None:
            show("")
    able, wrong = abilities(machine), mismatches(machine)
    if output_format == "json":
        from onnxfix.report.json import document, dumps

        facts = {"machine": asdict(machine), "abilities": [asdict(item) for item in able], "mismatches": wrong}
        click.echo(dumps({**document([], exit_code=0), "env": facts}), nl=False)
    else:
        lines = _facts(machine)
        lines.append(())
        for item in able:
            how = f"; {item.install}" if item.install else ""
            lines.append(
                (("yes" if item.works else "no ", "green" if item.works else "red"), f"  {item.command}: {item.words}{how}")
            )
        lines += [(("warning", "yellow"), f" {text}") for text in wrong]
        state.out().lines(lines)
    context.exit(0)


def _facts(machine: Machine) -> list[Line]:
    pairs = [("onnxfix", __version__), ("Python", machine.python), ("system", machine.system), *machine.packages.items()]
    gpu = ", ".join(str(value) if key == "name" else f"{key} {value}" for key, value in machine.gpu.items())
    seen = "seen by the CUDA driver; nvidia-ml-py says more" if machine.gpu_present else "none with a working driver"
    pairs.append(("GPU", gpu or seen))
    if machine.state:
        pairs.append(("now", ", ".join(f"{key} {value}" for key, value in machine.state.items())))
    width = max(len(name) for name, _ in pairs)
    return [(f"{name:<{width}}  {value}",) for name, value in pairs]
