"""`python -m anchored` is `anchored`."""

from anchored.cli import main

main()
