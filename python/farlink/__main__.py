"""`python -m farlink` is the command `farlink`."""

from farlink.entry import main

if __name__ == "__main__":
    main()
