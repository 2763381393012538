"""The words an operator types. One file per command under `commands/`: parse, call one function, show."""
