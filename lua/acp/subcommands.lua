--- All subcommands of :Acp, in the order in which |:Acp| alone offers them. Made from src/config/commands.rs;
--- `ACP_WRITE_HELP=1 cargo test help` writes it.

---@type acp.Subcommand[]
return {
  {
    name = "new",
    group = "Chat",
    about = "Start another session with an agent",
    asked = "agents",
  },
  {
    name = "toggle",
    group = "Chat",
    about = "Show or hide the chat",
  },
  {
    name = "agents",
    group = "Chat",
    about = "List all agents, to start or inspect one; with ! fetch the registry, too",
    bang = true,
  },
  {
    name = "send",
    group = "Ask",
    about = "Send a prompt, with the selected lines if there is a range; with ! even while a turn is running",
    bang = true,
  },
  {
    name = "ask",
    group = "Ask",
    about = "Ask without leaving the window, about the selected lines if any",
  },
  {
    name = "history",
    group = "Ask",
    about = "Pick an earlier prompt",
  },
  {
    name = "queue",
    group = "Ask",
    about = "Edit the queued prompts",
  },
  {
    name = "paste",
    group = "Ask",
    about = "Put the clipboard's image into the prompt",
  },
  {
    name = "cancel",
    group = "Ask",
    about = "Stop the agent's turn",
  },
  {
    name = "allow",
    group = "Answer",
    about = "Allow what the agent asks for",
    asked = "allow",
  },
  {
    name = "reject",
    group = "Answer",
    about = "Reject what the agent asks for",
    asked = "reject",
  },
  {
    name = "answer",
    group = "Answer",
    about = "Answer what the agent wants to know",
    words = { "decline", "cancel" },
  },
  {
    name = "changes",
    group = "Review",
    about = "Go to a file that the agent has changed; with ! or quickfix, list all in the quickfix list",
    words = { "quickfix" },
    bang = true,
  },
  {
    name = "follow",
    group = "Follow",
    about = "Follow the agent through the files it works on",
    words = { "on", "off", "toggle", "resume", "pin", "unpin" },
  },
  {
    name = "locations",
    group = "Follow",
    about = "List the locations that the agent has visited",
    words = { "turn", "session", "quickfix", "loclist", "pick" },
    several = true,
  },
  {
    name = "keep",
    group = "Review",
    about = "Keep what the agent changed: the hunk at the cursor or in the range, or more",
    words = { "hunk", "file", "turn", "session", "all" },
  },
  {
    name = "undo",
    group = "Review",
    about = "Undo what the agent changed: the hunk at the cursor or in the range, or more",
    words = { "hunk", "file", "turn", "session", "all" },
  },
  {
    name = "checkpoints",
    group = "Review",
    about = "Restore files to their state before a turn or a tool call",
  },
  {
    name = "settle",
    group = "Review",
    about = "Resolve a file with conflicts, or one that was deleted or renamed",
  },
  {
    name = "blame",
    group = "Review",
    about = "Show which agent wrote the line at the cursor, and for which prompt",
  },
  {
    name = "review",
    group = "Review",
    about = "Review what agents changed in one buffer; with ! in the quickfix list",
    words = { "turn", "session", "file", "all", "quickfix" },
    bang = true,
  },
  {
    name = "diff",
    group = "Review",
    about = "Show a changed file beside its old version, or close that",
    words = { "open", "close", "next", "previous" },
  },
  {
    name = "mode",
    group = "Settings",
    about = "Choose the agent's mode",
    asked = "mode",
  },
  {
    name = "model",
    group = "Settings",
    about = "Choose the agent's model",
    asked = "model",
  },
  {
    name = "config",
    group = "Settings",
    about = "Choose one of the agent's other options",
    asked = "config",
  },
  {
    name = "sessions",
    group = "Chat",
    about = "Go to another session, or resume an earlier one",
    asked = "sessions",
  },
  {
    name = "resume",
    group = "Chat",
    about = "Resume the last session of this project",
    asked = "agents",
  },
  {
    name = "rename",
    group = "Chat",
    about = "Give the session a name",
  },
  {
    name = "export",
    group = "Chat",
    about = "Export the conversation as Markdown; with ! overwrite an existing file",
    files = true,
    bang = true,
  },
  {
    name = "close",
    group = "Chat",
    about = "End the session and close its chat",
  },
  {
    name = "delete",
    group = "Chat",
    about = "Delete one of the stored sessions",
  },
  {
    name = "terminals",
    group = "Follow",
    about = "Go to the terminal of a command",
  },
  {
    name = "plan",
    group = "Follow",
    about = "Show the agent's plan in a small window, or close it",
  },
  {
    name = "paths",
    group = "Answer",
    about = "See or revoke what agents may use outside their folders",
  },
  {
    name = "terminal",
    group = "Follow",
    about = "Show, close or kill a command, or list the locations in its output",
    words = { "open", "next", "previous", "close", "kill", "quickfix" },
  },
  {
    name = "login",
    group = "Agent",
    about = "Log in to the agent",
    asked = "login",
  },
  {
    name = "logout",
    group = "Agent",
    about = "Log out of the agent",
  },
  {
    name = "build",
    group = "Plugin",
    about = "Get the plugin's library for this system; with ! again",
    words = { "release", "cargo" },
    bang = true,
    without_library = true,
  },
  {
    name = "restart",
    group = "Agent",
    about = "Start the agent again",
  },
  {
    name = "stop",
    group = "Agent",
    about = "End the agent and everything that it runs",
  },
  {
    name = "log",
    group = "Plugin",
    about = "Open the log",
  },
  {
    name = "keys",
    group = "Plugin",
    about = "Show the chat's keys",
  },
}
