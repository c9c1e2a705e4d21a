"""The command line: a click group whose commands are imported when they are called."""

from __future__ import annotations

import importlib

import click

from onnxfix import __version__
from onnxfix.cli._state import global_options

# Name: one line of help. A command's module is `onnxfix.cli.<name>`, and is not imported for the list of commands.
COMMANDS = {
    "lint": "Say which nodes a TensorRT release cannot parse.",
    "repair": "Rewrite them, prove the result equal, write it.",
    "verify": "Compare two models by running both.",
    "build": "Build an engine from a model.",
    "bench": "Measure models or engines against each other.",
    "run": "All of it: lint, repair, prove, parse, build, bench.",
    "reduce": "Make a model small that shows a failure, for a bug report.",
    "explain": "Explain a rule, an operator or a parser's message.",
    "rules": "List the rules.",
    "env": "Say what this machine has, and what is missing.",
    "targets": "List the TensorRT releases, or compare two.",
}
_GLOBAL_HELP = "The options of `onnxfix --help` may also stand here: -q, -v, --color, --config, --isolated, --traceback."


class LazyGroup(click.Group):
    """A group that knows its commands' summaries and imports a command only to run it or to show its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, and let it take the global options too."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"onnxfix.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        taken = {name for param in command.params for name in param.opts}
        if "--traceback" not in taken:
            command.params += [option for option in global_options(hidden=True) if not taken & set(option.opts)]
            command.epilog = command.epilog or _GLOBAL_HELP
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a word that is no command."""
        from onnxfix.targets._files import suggest

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, from COMMANDS alone."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=global_options(hidden=False),
    epilog="Exit codes: 0 clean, 1 findings, 2 usage or unreadable input, 3 proof failed and nothing written, "
    "4 this machine lacks what was asked for.",
)
@click.version_option(__version__, prog_name="onnxfix", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, /) -> None:
    """Say which nodes of an ONNX model a TensorRT release cannot parse, rewrite them, and prove the result equal."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
