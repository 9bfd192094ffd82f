-- Opening a file to look at it, and what that leaves undone until somebody works in it.
local api = vim.api

-- What |:edit| would call a file, which is what bars and lists show. A name that other plugins could take for an address
-- (`term://`) stays whole.
local function name_of(path)
  local short = vim.fn.fnamemodify(path, ":.")
  return short:find(":", 1, true) and path or short
end

return {
  -- The buffer of a file, loaded: unlisted when it is new, without a question about swap files. Gives its
  -- number, and the name of its swap file if another one stands in the way of the usual name.
  --
  -- File type plugins wait until somebody enters the buffer: some of them start programs, and the first
  -- Python file would have Neovim look for a Python, which takes seconds (:help provider-python).
  load = function(path)
    local buf = vim.fn.bufadd(name_of(path))
    if api.nvim_buf_is_loaded(buf) then
      return buf
    end
    vim.b[buf].acp_opened = true
    vim.b[buf].did_ftplugin = 1
    -- A swap file of another Neovim would ask and hold the editor (E325); 'A' keeps it quiet.
    local before = vim.o.shortmess
    vim.opt.shortmess:append("A")
    -- The file is wanted, and not what another plugin makes of its name: a program run, another host asked.
    local ignored = vim.o.eventignore
    vim.opt.eventignore:append("BufReadCmd")
    -- An error would also end what other plugins do with the file, such as to start its language server: some file
    -- type plugins fail where those before them were held back.
    vim.v.errmsg = ""
    local done, failure = pcall(vim.cmd, "silent! call bufload(" .. buf .. ")")
    vim.o.eventignore = ignored
    vim.o.shortmess = before
    local text = done and vim.v.errmsg or failure
    -- A <C-c> ends whatever runs: the buffer is loaded then, with all of the file, some of it or nothing.
    if text:find("Keyboard interrupt", 1, true) then
      vim.cmd("silent! bunload! " .. buf)
    end
    if not api.nvim_buf_is_loaded(buf) then
      error(text, 0)
    end
    local swap = vim.fn.swapname(buf)
    return buf, swap ~= "" and not vim.endswith(swap, ".swp") and swap or nil
  end,

  -- Somebody is in the buffer: it becomes what it had been if it was opened by hand.
  enter = function(buf)
    if not api.nvim_buf_is_loaded(buf) or not vim.b[buf].acp_opened then
      return
    end
    vim.b[buf].acp_opened = nil
    vim.bo[buf].buflisted = true
    vim.b[buf].did_ftplugin = nil
    local kind = vim.bo[buf].filetype
    if kind ~= "" and vim.fn.exists("#filetypeplugin#FileType") == 1 then
      api.nvim_buf_call(buf, function()
        vim.cmd("doautocmd <nomodeline> filetypeplugin FileType " .. kind)
      end)
    end
  end,
}
