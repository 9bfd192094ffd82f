--- All subcommands of :Acp, in the order in which |:Acp| alone offers them. Made from src/config/commands.rs;
--- `ACP_WRITE_HELP=1 cargo test help` writes it.

---@type acp.Subcommand[]
return {
  {
    name = "new",
    about = "Start another session with an agent",
    asked = "agents",
  },
  {
    name = "toggle",
    about = "Show or hide the chat",
  },
  {
    name = "agents",
    about = "List all agents, to start or inspect one; with ! fetch the registry, too",
    bang = true,
  },
  {
    name = "send",
    about = "Send a prompt, with the selected lines if there is a range; with ! even while a turn is running",
    bang = true,
  },
  {
    name = "ask",
    about = "Ask without leaving the window, about the selected lines if any",
  },
  {
    name = "history",
    about = "Pick an earlier prompt",
  },
  {
    name = "queue",
    about = "Edit the queued prompts",
  },
  {
    name = "paste",
    about = "Put the clipboard's image into the prompt",
  },
  {
    name = "cancel",
    about = "Stop the agent's turn, or one of its subagents",
    words = { "subagent" },
  },
  {
    name = "allow",
    about = "Allow what the agent asks for",
    asked = "allow",
  },
  {
    name = "reject",
    about = "Reject what the agent asks for",
    asked = "reject",
  },
  {
    name = "answer",
    about = "Answer what the agent wants to know",
    words = { "decline", "cancel" },
  },
  {
    name = "changes",
    about = "Go to a file that the agent has changed; with ! or quickfix, list all in the quickfix list",
    words = { "quickfix" },
    bang = true,
  },
  {
    name = "follow",
    about = "Follow the agent through the files it works on",
    words = { "on", "off", "toggle", "resume", "pin", "unpin" },
  },
  {
    name = "locations",
    about = "List the locations that the agent has visited",
    words = { "turn", "session", "quickfix", "loclist", "pick" },
    several = true,
  },
  {
    name = "keep",
    about = "Keep what the agent changed: the hunk at the cursor or in the range, or more",
    words = { "hunk", "file", "turn", "session", "all" },
  },
  {
    name = "undo",
    about = "Undo what the agent changed: the hunk at the cursor or in the range, or more",
    words = { "hunk", "file", "turn", "session", "all" },
  },
  {
    name = "checkpoints",
    about = "Restore files to their state before a turn or a tool call",
  },
  {
    name = "settle",
    about = "Resolve a file with conflicts, or one that was deleted or renamed",
  },
  {
    name = "blame",
    about = "Show which agent wrote the line at the cursor, and for which prompt",
  },
  {
    name = "review",
    about = "Review what agents changed in one buffer; with ! in the quickfix list",
    words = { "turn", "session", "file", "all", "quickfix" },
    bang = true,
  },
  {
    name = "diff",
    about = "Show a changed file beside its old version, or close that",
    words = { "open", "close", "next", "previous" },
  },
  {
    name = "mode",
    about = "Choose the agent's mode",
    asked = "mode",
  },
  {
    name = "model",
    about = "Choose the agent's model",
    asked = "model",
  },
  {
    name = "config",
    about = "Choose one of the agent's other options",
    asked = "config",
  },
  {
    name = "sessions",
    about = "Go to another session, or resume an earlier one",
    asked = "sessions",
  },
  {
    name = "resume",
    about = "Resume the last session of this project",
    asked = "agents",
  },
  {
    name = "rename",
    about = "Give the session a name",
  },
  {
    name = "export",
    about = "Export the conversation as Markdown; with ! overwrite an existing file",
    files = true,
    bang = true,
  },
  {
    name = "close",
    about = "End the session and close its chat",
  },
  {
    name = "delete",
    about = "Delete one of the stored sessions",
  },
  {
    name = "terminals",
    about = "Go to the terminal of a command",
  },
  {
    name = "plan",
    about = "Show the agent's plan in a small window, or close it",
  },
  {
    name = "paths",
    about = "See or revoke what agents may use outside their folders",
  },
  {
    name = "terminal",
    about = "Show, close or kill a command, or list the locations in its output",
    words = { "open", "next", "previous", "close", "kill", "quickfix" },
  },
  {
    name = "login",
    about = "Log in to the agent",
    asked = "login",
  },
  {
    name = "logout",
    about = "Log out of the agent",
  },
  {
    name = "build",
    about = "Get the plugin's library for this system; with ! again",
    words = { "release", "cargo" },
    bang = true,
    without_library = true,
  },
  {
    name = "restart",
    about = "Start the agent again",
  },
  {
    name = "stop",
    about = "End the agent and everything that it runs",
  },
  {
    name = "log",
    about = "Open the log",
  },
  {
    name = "keys",
    about = "Show the chat's keys",
  },
}
