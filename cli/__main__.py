"""`sovctl`, and `python -m sovctl.cli`: loads the words, and runs what was said."""

from sovctl.support.keyboard_interrupt import exit_on_interrupt


def main() -> None:
    """Entry point of the `sovctl` script."""
    with exit_on_interrupt():
        from .main import main as run
    run()


if __name__ == "__main__":
    main()
