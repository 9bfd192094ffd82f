--- What a user sees of an installation: a small window that offers it, shows how far it is and how it ended, each step
--- with its keys. What is installed is up to `acp.install`, what goes on afterwards to the caller.

local running = require("acp.install.running")
local task = require("acp.install.task")
local notify = require("acp.notify")

local M = {}

local WIDTH = 68

local namespace = vim.api.nvim_create_namespace("acp.install")

---@class acp.InstallView
---@field win integer
---@field buf integer

---@type acp.InstallView?
local view

local function close()
  if view and vim.api.nvim_win_is_valid(view.win) then
    vim.api.nvim_win_close(view.win, true)
  end
  view = nil
end

--- Breaks a text at spaces, so that it fits.
---@param text string
---@param width integer
---@return string[]
local function wrap(text, width)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    -- One that is longer than a line, such as an address.
    while vim.api.nvim_strwidth(word) > width do
      local head = vim.fn.printf("%." .. width .. "S", word)
      if line ~= "" then
        lines[#lines + 1], line = line, ""
      end
      lines[#lines + 1], word = head, word:sub(#head + 1)
    end
    if line ~= "" and vim.api.nvim_strwidth(line) + 1 + vim.api.nvim_strwidth(word) > width then
      lines[#lines + 1], line = line, word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

---@return vim.api.keyset.win_config
local function geometry(height)
  local width = math.max(20, math.min(WIDTH, vim.o.columns - 4))
  return {
    relative = "editor",
    width = width,
    height = math.max(1, math.min(height, vim.o.lines - 4)),
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    style = "minimal",
    border = "rounded",
    title = " acp.nvim ",
  }
end

--- Shows a text and keys. Without a window yet it opens one, and the user is in it.
---@param text string[] paragraphs
---@param keys { [1]: string, [2]?: string, [3]: fun() }[] the key, what it does in words if that is shown, and in fact
local function show(text, keys)
  if not (view and vim.api.nvim_win_is_valid(view.win)) then
    local buf = vim.api.nvim_create_buf(false, true)
    vim.bo[buf].bufhidden = "wipe"
    vim.bo[buf].filetype = "acp-install"
    view = { buf = buf, win = vim.api.nvim_open_win(buf, true, geometry(4)) }
    local group = vim.api.nvim_create_augroup("acp_install_view", {})
    vim.api.nvim_create_autocmd("VimResized", { group = group, callback = M.resized })
    vim.api.nvim_create_autocmd("BufWipeout", {
      group = group,
      buffer = buf,
      callback = function()
        vim.api.nvim_del_augroup_by_id(group)
      end,
    })
  end
  view.text, view.keys = text, keys
  for _, map in ipairs(vim.api.nvim_buf_get_keymap(view.buf, "n")) do
    vim.api.nvim_buf_del_keymap(view.buf, "n", map.lhs)
  end
  for _, key in ipairs(keys) do
    vim.keymap.set(
      "n",
      key[1],
      key[3],
      { buffer = view.buf, nowait = true, desc = key[2] and "acp: " .. key[2] }
    )
  end
  M.resized()
end

--- Draws the window for the screen as it is now.
function M.resized()
  if not (view and vim.api.nvim_win_is_valid(view.win)) then
    return
  end
  local width = geometry(1).width - 2
  local lines, marks = {}, {}
  for _, paragraph in ipairs(view.text) do
    for _, line in ipairs(wrap(paragraph, width)) do
      lines[#lines + 1] = " " .. line
    end
  end
  lines[#lines + 1] = ""
  local line = ""
  local shown = vim.tbl_filter(function(key)
    return key[2] ~= nil
  end, view.keys)
  for _, key in ipairs(shown) do
    local item = ("%s %s"):format(key[1], key[2])
    if line ~= "" and #line + 3 + #item > width then
      lines[#lines + 1], line = line, ""
    end
    local column = #line + (line == "" and 1 or 3)
    line = (line == "" and " " or line .. "   ") .. item
    marks[#marks + 1] = { #lines, column, #key[1] }
  end
  lines[#lines + 1] = line
  vim.bo[view.buf].modifiable = true
  vim.api.nvim_buf_set_lines(view.buf, 0, -1, false, lines)
  vim.bo[view.buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(view.buf, namespace, 0, -1)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(view.buf, namespace, mark[1], mark[2], {
      end_col = math.min(mark[2] + mark[3], #lines[mark[1] + 1]),
      hl_group = "Special",
    })
  end
  vim.api.nvim_win_set_config(view.win, geometry(#lines))
end

---@param installed acp.Installed
---@return string
local function told(installed)
  local text = "the library is there, from " .. installed.from
  return installed.note and ("%s: %s"):format(text, installed.note) or text
end

---@class acp.AfterInstall What goes on when the library is there.
---@field fn fun(installed: acp.Installed)
---@field in_sight? true only if the user still looks at the installation: it opens windows

-- The installation that is shown, whether the user has hidden it, and what goes on after it.
---@type { installation: acp.Installation, hidden: boolean, after: acp.AfterInstall[] }?
local followed

local function hide()
  if followed then
    followed.hidden = true
  end
  close()
  notify.show("goes on in the background; `:Acp build` shows how far it is", vim.log.levels.INFO)
end

--- Shows how far the installation is.
local function draw()
  if not followed or followed.hidden then
    return
  end
  if view and not vim.api.nvim_win_is_valid(view.win) then
    -- Closed by hand.
    followed.hidden, view = true, nil
    return
  end
  local installation = followed.installation
  local seconds = math.floor((vim.uv.hrtime() - installation.began) / 1e9)
  local said = installation.said:sub(1, 1):upper() .. installation.said:sub(2)
  show({ ("%s … %d:%02d"):format(said, math.floor(seconds / 60), seconds % 60) }, {
    { "q", "hide this, and go on", hide },
    { "<C-c>", "stop", installation.cancel },
  })
end

--- Says how the installation ended, and goes on with what waited for it.
---@param err? string
---@param installed? acp.Installed
---@param again fun()
local function ended(err, installed, again)
  local hidden, after = followed.hidden, followed.after
  followed = nil
  if not err then
    close()
    notify.show(told(installed), vim.log.levels.INFO)
    for _, each in ipairs(after) do
      if not (each.in_sight and hidden) then
        each.fn(installed)
      end
    end
  elseif err == task.CANCELLED then
    close()
    notify.show("stopped; `:Acp build` begins again", vim.log.levels.INFO)
  elseif hidden then
    notify.show(err, vim.log.levels.ERROR)
  else
    local text = err:sub(1, 1):upper() .. err:sub(2) .. "."
    show({ text }, {
      { "r", "try again", again },
      { "q", "close", close },
      { "<CR>", nil, again },
      { "<Esc>", nil, close },
    })
  end
end

--- Shows how the installation goes on, in the window, and how it ended.
---@param installation acp.Installation
---@param after acp.AfterInstall
---@param again fun() begins anew
local function follow(installation, after, again)
  if followed and followed.installation == installation then
    followed.hidden = false
    table.insert(followed.after, after)
    return draw()
  end
  followed = { installation = installation, hidden = false, after = { after } }
  draw()
  local clock = vim.uv.new_timer()
  clock:start(1000, 1000, vim.schedule_wrap(draw))
  installation.listen({
    on_progress = draw,
    on_done = function(err, installed)
      clock:close()
      ended(err, installed, again)
    end,
  })
end

--- Installs in sight of the user.
---@param root string
---@param opts? acp.InstallOptions
---@param after acp.AfterInstall
function M.run(root, opts, after)
  follow(running.start(root, opts), after, function()
    M.run(root, opts, after)
  end)
end

--- Offers to install, since something wants the library; shows the progress if that has begun already.
---@param root string
---@param why string one sentence
---@param on_done fun(installed: acp.Installed)
function M.offer(root, why, on_done)
  local after = { fn = on_done, in_sight = true }
  if running.current() then
    return M.run(root, nil, after)
  end
  local function get(from)
    return function()
      M.run(root, { from = from }, after)
    end
  end
  local keys = { { "<CR>", "get it", get() } }
  local text = "It's published for most systems (5 MB)"
  if require("acp.install.cargo").is_there() then
    text = text .. ", or built here by cargo in about two minutes."
    keys[#keys + 1] = { "c", "build it with cargo", get("cargo") }
  else
    text = text .. "."
  end
  keys[#keys + 1] = { "q", "not now", close }
  keys[#keys + 1] = { "<Esc>", nil, close }
  show({ why, text }, keys)
end

return M
