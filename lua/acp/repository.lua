--- The repository on GitHub that releases come from, as owner/name. A fork that makes its own releases changes
--- this line and nothing else: scripts/release reads it from here, and a test compares what must repeat it.
return "owner/acp.nvim"
