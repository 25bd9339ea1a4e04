"""The command `numcolbert`, and `python -m numcolbert` where it is not on the path."""

import sys


def main() -> None:
    try:
        from numcolbert.cli.app import main as run
    except KeyboardInterrupt:  # while the commands are loaded, before they can say so themselves
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
