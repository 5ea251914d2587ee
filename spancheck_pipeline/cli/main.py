"""The ``spancheck`` command: its subcommands, loaded when called, and the place where an error becomes an exit code.

0 passed, 1 failed (a gate that was not measured included), 2 could not run, 3 not comparable.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from spancheck_pipeline import __version__

_COMMANDS = {
    "init": ("Make a project for your own system, with a suite that runs at once.", "init:init"),
    "nightly": ("Capture a suite's date once, score it, decide, write the record.", "nightly:nightly"),
    "ui": ("Open Dagster's UI on this project.", "ui:ui"),
    "run": ("Run a suite, or a cases file against a target, without Dagster.", "run:run"),
    "plan": ("Say what a run will ask and cost, before it is begun.", "plan:plan"),
    "score": ("Show the scorecard of a date or of an audit log; grade it again if asked.", "score:score"),
    "prune": ("Let old nights go of outputs and scores; decisions stay.", "prune:prune"),
    "rescore": ("Score nights again that other graders scored, in one run.", "rescore:rescore"),
    "gate": ("Decide whether a date or an audit log is good enough.", "gate:gate"),
    "diff": ("Compare two runs case by case.", "diff:diff"),
    "trend": ("Show a suite's rates over its dates, with intervals and what has changed.", "trend:trend"),
    "report": ("Write the report of a date, a run or an earlier decision as one HTML file.", "report:report"),
    "calibrate": ("Measure a judge, or a grader, against people's labels.", "calibrate:calibrate"),
    "promote": ("Pin a date as the release baseline, or list the baselines.", "promote:promote"),
    "import": ("Turn another tool's file of answers into a captured run.", "import_:import_"),
    "review": ("Review findings in a spreadsheet and sign dispositions of them.", "review:review"),
    "gold": ("Draw claims for labelling, and read the labels back as a gold set.", "gold:gold"),
    "audit": ("Read and export the record of a date.", "audit:audit"),
}
"""Command → its line of help, and where it is. The modules are imported by the command that is called."""


_INTERRUPTED = "interrupted; what was captured is kept, run the same command to go on"


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that ``--help`` starts at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][1].partition(":")
        command: click.Command = getattr(importlib.import_module(f"spancheck_pipeline.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (text, _) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="spancheck")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; it may quote texts.")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool) -> None:
    """Say whether a grounded-answer system's answers can be trusted.

    Exit codes: 0 passed, 1 failed or not measured, 2 could not run, 3 not comparable.
    """
    ctx.obj = {"debug": debug}


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit. This is the edge: no mistake of a user shows a traceback without ``--debug``."""
    arguments = sys.argv[1:] if argv is None else argv
    is_debug = "--debug" in arguments
    # ``--debug`` is understood anywhere, since the message that recommends it comes after a whole command.
    sys.exit(_run([item for item in arguments if item != "--debug"], is_debug=is_debug))


def _run(arguments: list[str], *, is_debug: bool) -> int:
    """Call the command, and make an exit code of whatever is no mistake of the user's own."""
    try:
        return _called(arguments, is_debug=is_debug)
    except (KeyboardInterrupt, click.Abort):
        return _say(_INTERRUPTED, 2)
    except BrokenPipeError:
        sys.stderr.close()
        return 2
    except OSError as error:
        if is_debug:
            raise
        where = f"{error.filename}: " if error.filename else "the output: "
        return _say(f"{where}{error.strerror or type(error).__name__}; free some space, or write elsewhere", 2)
    except BaseException as error:  # the CLI's edge
        if type(error).__name__ == "DagsterExecutionInterruptedError":  # Dagster's word for Ctrl-C and SIGTERM
            return _say(_INTERRUPTED, 2)
        if is_debug or not isinstance(error, Exception):
            raise
        return _say(f"{type(error).__name__}; this is a fault of spancheck: run again with --debug and report it", 2)


def _called(arguments: list[str], *, is_debug: bool) -> int:
    from spancheck_pipeline.errors import SpancheckError

    try:
        value: Any = cli.main(args=arguments, prog_name="spancheck", standalone_mode=False, obj={"debug": is_debug})
    except SpancheckError as error:
        if is_debug:
            raise
        return _say(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        return 2
    except click.exceptions.Exit as error:
        return error.exit_code
    return value if isinstance(value, int) else 0


def _say(message: str, code: int) -> int:
    from spancheck_pipeline.cli.terminal import say

    say(message)
    return code
