--- Chats in sessions of `:mksession`. A restored session has windows with the names of the chat's buffers, but empty
--- ones: they get a text that says how to go on, without loading the library.

local M = {}

local text = {
  "This chat was saved with the session.",
  "Nothing in it is running.",
  "",
  ":Acp resume    resumes the last session",
  ":Acp sessions  picks an earlier one",
  ":AcpChat       starts a new one",
}

--- A buffer in place of one of a chat's.
---@param filetype string
---@param lines string[]
---@return integer
local function stand_in(filetype, lines)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable = filetype ~= "acp"
  return buf
end

--- Replaces the chats' empty buffers after a session was restored.
function M.after_load()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.startswith(name, "acp://") and vim.bo[buf].filetype == "" then
      local is_chat = name:find(" chat[ %d]*$") ~= nil
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        if
          is_chat
          or vim.fn.tabpagewinnr(vim.api.nvim_tabpage_get_number(vim.api.nvim_win_get_tabpage(win)), "$")
            == 1
        then
          vim.api.nvim_win_set_buf(win, stand_in("acp", text))
        else
          -- An empty prompt would look as if an agent read it.
          vim.api.nvim_win_close(win, true)
        end
      end
      if vim.api.nvim_buf_is_valid(buf) then
        vim.api.nvim_buf_delete(buf, { force = true })
      end
    end
  end
end

--- Renames the chats' buffers in the session file that was just written. Restoring a name that a buffer already has is
--- an error (E95) and would stop the restore.
function M.after_write()
  local path = vim.v.this_session
  local read, lines = pcall(vim.fn.readfile, path)
  if path == "" or not read then
    return
  end
  local changed = false
  for number, line in ipairs(lines) do
    local rest = line:match("^file acp://(.*)$")
    if rest then
      -- Silent: what Neovim says of each name would wait for <Enter> when the session is restored.
      lines[number] = "silent file acp://saved/" .. rest:gsub("^saved/", "")
      changed = true
    end
  end
  if changed then
    vim.fn.writefile(lines, path)
  end
end

return M
