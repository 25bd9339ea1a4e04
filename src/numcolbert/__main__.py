"""`python -m numcolbert` is the command `numcolbert`, where the latter is not on the path."""

from numcolbert.cli.app import main

if __name__ == "__main__":
    main()
