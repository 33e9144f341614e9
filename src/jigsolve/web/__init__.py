"""The local page: watch a puzzle being solved in a browser. Needs the extra `web`."""
