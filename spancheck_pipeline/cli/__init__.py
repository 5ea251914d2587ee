"""The command line: parse, call the library, print, exit. Figures go to stdout, everything else to stderr."""
