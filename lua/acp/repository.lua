-- Where this plugin is published, as GitHub names it: releases are fetched from there.
return "owner/acp.nvim"
