--- Completion in the prompt: the agent's slash commands at its beginning, and what @ refers to. Files are
--- looked for in the background, so what is known at once comes first. 'omnifunc', the menu that opens while you
--- type, and the sources for completion plugins all take their items from here.

local M = {}

---@class acp.Item
---@field word string what is inserted, with its / or @
---@field menu string what it does or is
---@field kind "command"|"context"|"file"|"folder"

--- What @ may be followed by, beside files.
---@type { word: string, menu: string }[]
local named = {
  { word = "buffer", menu = "the buffer you were last in" },
  { word = "selection", menu = "the lines you last selected" },
  { word = "diagnostics", menu = "errors and warnings of the buffer you were last in" },
  { word = "quickfix", menu = "the quickfix list" },
  { word = "diff", menu = "the output of `git diff`" },
  { word = "terminal", menu = "the end of the last terminal's output" },
  { word = "symbol", menu = "the function or class at the cursor of that buffer" },
  { word = "viewport", menu = "the lines of that buffer that are on the screen" },
  { word = "commit", menu = "the last commit" },
}

-- What @ may be followed by, and then by a name.
---@type { word: string, menu: string }[]
local prefixes = {
  { word = "symbol:", menu = "a function or class by its name" },
  { word = "commit:", menu = "a commit" },
  { word = "help:", menu = "a tag of the help" },
}

-- At most so many help tags and commits are offered.
local most = 50

--- The folder that names of the session are meant in.
---@return string
local function root()
  local sessions = require("acp").status().sessions
  return sessions[1] and sessions[1].cwd or vim.fn.getcwd()
end

---@param prefix string
---@param names string[]
---@param menu string
---@return acp.Item[]
local function of_kind(prefix, names, menu)
  return vim.tbl_map(function(name)
    return { word = prefix .. name, menu = menu, kind = "context" }
  end, vim.list_slice(names, 1, most))
end

--- What may follow the kinds that have a name beside them: `@help:`, `@commit:`, `@symbol:`. Each has `done` called
--- with the items.
---@type table<string, fun(name: string, done: fun(items: acp.Item[]))>
local kinds = {
  help = function(name, done)
    -- All of the help's tags are too many.
    done(#name < 2 and {} or of_kind("@help:", vim.fn.getcompletion(name, "help"), "help"))
  end,
  symbol = function(name, done)
    local buf = M.last_buffer()
    local symbols = require("acp.symbols")
    local function found()
      local names = buf and vim.api.nvim_buf_is_loaded(buf) and symbols.names(buf) or {}
      local fitting = vim.tbl_filter(function(each)
        return each:lower():find(name:lower(), 1, true) ~= nil
      end, names)
      done(of_kind("@symbol:", fitting, "symbol"))
    end
    if buf and symbols.is_worth_asking(buf) then
      return symbols.fetch(buf, found)
    end
    found()
  end,
  commit = function(name, done)
    local command = { "git", "-C", root(), "--no-pager", "log", "--format=%h %s", "-n", "500" }
    local function told(result)
      local items = {}
      for line in (result.stdout or ""):gmatch("[^\n]+") do
        local hash, subject = line:match("^(%x+) (.*)$")
        local fits = hash and (vim.startswith(hash, name) or subject:lower():find(name:lower(), 1, true))
        if fits and #items < most then
          items[#items + 1] = { word = "@commit:" .. hash, menu = subject, kind = "context" }
        end
      end
      done(items)
    end
    -- Without git there are no commits.
    local ok = pcall(vim.system, command, { text = true, timeout = 5000 }, vim.schedule_wrap(told))
    if not ok then
      done({})
    end
  end,
}

--- The buffer that the user was in before they came to the prompt.
---@return integer?
function M.last_buffer()
  local best
  for _, info in ipairs(vim.fn.getbufinfo({ bufloaded = 1 })) do
    local is_file = vim.bo[info.bufnr].buftype == ""
    if is_file and (not best or info.lastused > best.lastused) then
      best = info
    end
  end
  return best and best.bufnr
end

-- Callbacks that wait for files, by the number of their search.
---@type table<integer, fun(files: string[]?)>
local waiting = {}
-- The files that were found last, and for what.
local last = { query = nil, files = {} }

--- What is being typed before the cursor: its first byte, 0-based, and its text; nothing where it is neither a
--- slash command nor a reference.
---@param line string
---@param column integer bytes before the cursor
---@param row integer 1-based
---@return integer? start
---@return string? text
function M.token(line, column, row)
  local before = line:sub(1, column)
  if row == 1 and before:match("^/%S*$") then
    return 0, before
  end
  -- A path with blanks stands in quotes.
  local start = (before:match('()@"[^"]*$') or before:match("()@[^%s@]*$")) --[[@as integer?]]
  if not start or not (" " .. before):sub(start, start):match("[%s(%[{<\",;']") then
    return nil
  end
  return start - 1, before:sub(start)
end

--- A path as a prompt refers to it.
---@param path string
---@return string
function M.reference(path)
  -- Quoted where reading it back could end too early: core::context says where.
  return path:match("^[%w_./~+-]*[%w_/]$") and "@" .. path or ('@"%s"'):format(path)
end

---@param text string
---@return acp.Item[]
local function commands(text)
  local items = {}
  for _, command in ipairs(require("acp").call("commands") or {}) do
    local word = "/" .. command.name
    if vim.startswith(word, text) then
      local hint = command.hint and (" <%s>"):format(command.hint) or ""
      local menu = ((command.description or "") .. hint):gsub("%s+", " ")
      items[#items + 1] = { word = word, menu = menu, kind = "command" }
    end
  end
  return items
end

--- The text of a reference without its @ and quote.
---@param text string
---@return string
local function query_of(text)
  return (text:gsub('^@"?', ""))
end

---@param text string
---@param files string[]
---@return acp.Item[]
local function references(text, files)
  local query = query_of(text)
  local items = {}
  for _, each in ipairs(named) do
    if vim.startswith(each.word, query) then
      items[#items + 1] = { word = "@" .. each.word, menu = each.menu, kind = "context" }
    end
  end
  for _, each in ipairs(prefixes) do
    if #query > 0 and vim.startswith(each.word, query) then
      items[#items + 1] = { word = "@" .. each.word, menu = each.menu, kind = "context" }
    end
  end
  for _, path in ipairs(files) do
    local kind = path:sub(-1) == "/" and "folder" or "file"
    items[#items + 1] = { word = M.reference(path), menu = kind, kind = kind }
  end
  return items
end

--- Has `done` called with the items for a token, at once or when the files are found; with nil if a newer search
--- came in between.
---@param text string
---@param done fun(items: acp.Item[]?)
function M.items(text, done)
  if text:sub(1, 1) == "/" then
    return done(commands(text))
  end
  local query = query_of(text)
  local kind, name = query:match("^(%a+):(.*)$")
  if kinds[kind] and not vim.startswith(text, '@"') then
    return kinds[kind](name, done)
  end
  M.files(query, function(files)
    if not files then
      return done(nil)
    end
    last = { query = query, files = files }
    done(references(text, files))
  end)
end

-- As the language server protocol numbers them. Commands are keywords: functions get brackets behind them.
local lsp_kinds = { command = 14, context = 18, file = 17, folder = 19 }

--- Items as completion plugins take them, in the shape of the language server protocol.
---@param items acp.Item[]
---@param text string the token that they are for
---@param row integer 0-based
---@param from integer the token's first byte, 0-based
---@param to integer the byte after its last
---@return table[]
function M.lsp_items(items, text, row, from, to)
  local range = {
    start = { line = row, character = from },
    ["end"] = { line = row, character = to },
  }
  local list = {}
  for index, item in ipairs(items) do
    list[index] = {
      label = item.word,
      kind = lsp_kinds[item.kind],
      -- What a file is, its kind says.
      labelDetails = item.menu ~= item.kind and { description = item.menu } or nil,
      -- They come in the order in which they fit; completion plugins filter by what is typed, which they all do.
      filterText = text,
      sortText = ("%05d"):format(index),
      textEdit = { newText = item.word, range = range },
    }
  end
  return list
end

--- Has `done` called with the files that fit a query, once they are found; with nil if a newer search came in
--- between.
---@param query string
---@param done fun(files: string[]?)
function M.files(query, done)
  local search = require("acp").call("find", { text = query })
  if not search then
    return done({})
  end
  waiting[search] = done
end

--- The library has found files, or given up for a newer search.
---@param search integer
---@param files? string[]
function M.found(search, files)
  local done = waiting[search]
  waiting[search] = nil
  if done then
    done(files)
  end
end

---@param items acp.Item[]
---@return table[]
local function menu(items)
  return vim.tbl_map(function(item)
    return { word = item.word, menu = item.menu, icase = 1, dup = 1 }
  end, items)
end

--- The token at the cursor of the current window.
local function here()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  return M.token(vim.api.nvim_get_current_line(), column, row)
end

--- Opens the menu with `items`, if what they are for still stands before the cursor.
---@param buf integer
---@param start integer
---@param text string
---@param items acp.Item[]
local function open(buf, start, text, items)
  if vim.api.nvim_get_current_buf() ~= buf or not vim.startswith(vim.fn.mode(), "i") then
    return
  end
  local now, typed = here()
  if now ~= start or typed ~= text then
    return
  end
  -- What stands there already needs no menu.
  local nothing = #items == 0 or (#items == 1 and items[1].word == text)
  if nothing and vim.fn.pumvisible() == 0 then
    return
  elseif nothing then
    items = {}
  end
  -- The first is chosen, and nothing is inserted before the user says so.
  local before = vim.o.completeopt
  vim.o.completeopt = "menuone,noinsert"
  local ok, err = pcall(vim.fn.complete, start + 1, menu(items))
  vim.o.completeopt = before
  if not ok then
    error(err, 0)
  end
end

--- Looks for what fits the token at the cursor and opens the menu.
function M.trigger()
  local start, text = here()
  if start and text then
    local buf = vim.api.nvim_get_current_buf()
    M.items(text, function(items)
      if items then
        open(buf, start, text, items)
      end
    end)
  end
end

--- For 'omnifunc'; |complete-functions| says what it is given and gives.
---@param findstart 0|1
---@param base string
---@return integer|table
function M.omnifunc(findstart, base)
  if findstart == 1 then
    local start, text = here()
    if not start or not text then
      -- Elsewhere a slash is a slash: -3 leaves completion without a word.
      return -3
    end
    if text:sub(1, 1) == "@" and last.query ~= query_of(text) then
      -- The files come later, and the menu with them.
      vim.schedule(require("acp.notify").guarded(M.trigger))
      return -3
    end
    return start
  end
  if base:sub(1, 1) == "/" then
    return menu(commands(base))
  end
  return menu(references(base, last.files))
end

--- A module of another plugin's, which may not be there.
---@param name string
---@return table
local function others(name)
  return require(name)
end

--- Completion plugins that have sources of their own: whether one completes in the current buffer with ours, and how it
--- gets ours for prompts where the user has not said what it has there.
local plugins = {
  {
    name = "blink.cmp",
    module = "blink.cmp",
    shows = function()
      local config = others("blink.cmp.config")
      if not config.enabled() then
        return false
      end
      for _, id in ipairs(others("blink.cmp.sources.lib").get_enabled_provider_ids("default")) do
        if config.sources.providers[id] and config.sources.providers[id].module == "acp.blink" then
          return true
        end
      end
      return false
    end,
    join = function()
      local sources = others("blink.cmp.config").sources
      if not sources.per_filetype["acp-prompt"] then
        sources.providers.acp = sources.providers.acp or { name = "acp", module = "acp.blink" }
        sources.per_filetype["acp-prompt"] = { "acp" }
      end
    end,
  },
  {
    name = "nvim-cmp",
    module = "cmp",
    shows = function()
      local config = others("cmp.config").get()
      local enabled = config.enabled
      if type(enabled) == "function" then
        enabled = enabled()
      end
      local wanted = {}
      for _, source in ipairs(enabled and config.sources or {}) do
        wanted[source.name] = true
      end
      local ours = package.loaded["acp.cmp"]
      for _, source in ipairs(others("cmp").get_registered_sources()) do
        if wanted[source.name] and ours and getmetatable(source.source) == ours then
          return true
        end
      end
      return false
    end,
    join = function()
      if not others("cmp.config").filetypes["acp-prompt"] then
        local cmp = others("cmp")
        cmp.register_source("acp", require("acp.cmp").new())
        cmp.setup.filetype("acp-prompt", { sources = { { name = "acp" } } })
      end
    end,
  },
}

-- Those that were asked to complete in prompts already.
---@type table<string, true>
local joined = {}

--- Has completion plugins that are loaded by now complete in prompts, unless the user's configuration says what they
--- have there.
function M.join()
  for _, plugin in ipairs(plugins) do
    if package.loaded[plugin.module] and not joined[plugin.name] then
      joined[plugin.name] = true
      -- One that is built otherwise than we know is left alone: the plugin's own menu opens.
      pcall(plugin.join)
    end
  end
end

--- The completion plugin that is loaded, and whether it shows our items in the current buffer.
---@return string? name
---@return boolean shows
function M.plugin()
  local found
  for _, plugin in ipairs(plugins) do
    if package.loaded[plugin.module] then
      local ok, shows = pcall(plugin.shows)
      -- One that is built otherwise than we know may show them: two menus would be worse than one.
      if not ok or shows then
        return plugin.name, true
      end
      found = plugin.name
    end
  end
  return found, false
end

--- Whether what stands before the cursor was chosen from the menu, and not typed.
local function chosen()
  if vim.fn.pumvisible() == 0 then
    return false
  end
  local info = vim.fn.complete_info({ "selected", "items" })
  local item = info.selected >= 0 and info.items[info.selected + 1]
  local _, text = here()
  return item and item.word == text
end

-- The `changedtick` at which a prompt was given a text that nobody typed, by its buffer.
---@type table<integer, integer>
local given = {}

--- A prompt has a text that nobody typed: nothing is completed until somebody does.
---@param buf integer
function M.was_given(buf)
  given[buf] = vim.api.nvim_buf_get_changedtick(buf)
end

--- Has the menu open while the user types in a prompt.
---@param buf integer
---@param when "auto"|"always"|"never"
function M.attach(buf, when)
  local group = vim.api.nvim_create_augroup("acp.complete", { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  given[buf] = nil
  if when == "never" then
    return
  end
  if when == "auto" then
    M.join()
    vim.api.nvim_create_autocmd("InsertEnter", {
      group = group,
      buffer = buf,
      -- A plugin manager may load one at this event.
      callback = vim.schedule_wrap(M.join),
    })
  end
  vim.api.nvim_create_autocmd({ "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = buf,
    callback = require("acp.notify").guarded(function()
      local typed = given[buf] ~= vim.api.nvim_buf_get_changedtick(buf)
      if typed and not chosen() and (when == "always" or not select(2, M.plugin())) then
        M.trigger()
      end
    end),
  })
end

return M
