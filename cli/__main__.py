"""Entry point of `sovctl` and `python -m sovctl.cli`."""

from sovctl.support.processes.keyboard_interrupt import exit_on_interrupt


def main() -> None:
    """Run the command line. Ctrl-C during the import of the commands ends the process without a traceback."""
    with exit_on_interrupt():
        from .main import main as run
    run()


if __name__ == "__main__":
    main()
