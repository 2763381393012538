"""`sovctl`, and `python -m sovctl.cli`: loads the words, and runs what was said."""

from sovctl.support.keyboard_interrupt import ends_quietly


def main() -> None:
    """Entry point of the `sovctl` script."""
    with ends_quietly():
        from .main import main as run
    run()


if __name__ == "__main__":
    main()
