--- Choosing from lists of any length. Pickers that replace `vim.ui.select` get all of a list. Neovim's own prints it, and
--- what is taller than the screen scrolls away behind a prompt that takes no numbers: it gets a screenful at a time,
--- whose last items lead to the rest.

local M = {}

--- What Neovim's own picker asks with, below the items.
M.ASKS = "Type number and <Enter> or click with the mouse (q or empty cancels): "

---@param asks function
---@return boolean
local function is_of_neovim(asks)
  local source = debug.getinfo(asks, "S").source
  return source:find("vim/ui%.lua$") ~= nil or source:find("vim/ui$") ~= nil
end

--- What `vim.ui.select` was when this was loaded, if it was Neovim's own.
local own = is_of_neovim(vim.ui.select) and vim.ui.select or nil

--- Whether `vim.ui.select` is Neovim's own.
---@return boolean
function M.is_builtin()
  if own then
    return vim.ui.select == own
  end
  return is_of_neovim(vim.ui.select)
end

--- Whether `vim.ui.input` is Neovim's own, whose prompt may be as long as the screen is wide.
---@return boolean
function M.is_builtin_input()
  return is_of_neovim(vim.ui.input)
end

---@param text string
---@return integer rows that it takes on the screen
local function rows(text)
  return math.max(1, math.ceil(vim.fn.strdisplaywidth(text) / vim.o.columns))
end

--- How many items from `first` on fit on a screen of `room` rows, one of which leads to the rest.
---@param items string[]
---@param first integer
---@param room integer
---@return integer last
local function last_that_fits(items, first, room)
  local used, last, fits = 0, first - 1, first
  while last < #items do
    last = last + 1
    used = used + rows(("%d: %s"):format(last - first + 1, items[last]))
    if used > room then
      return fits
    end
    -- The row below is needed unless this is the end.
    if used < room then
      fits = last
    end
  end
  return last
end

--- Neovim's own picker, a screenful at a time. It calls back as `vim.ui.select` does.
---@generic T
---@param items T[]
---@param options table as for `vim.ui.select`
---@param choose fun(item?: T, index?: integer)
function M.paged(items, options, choose)
  local shown = vim.tbl_map(options.format_item or tostring, items)
  local function page(first)
    local room = vim.o.lines - 1 - rows(M.ASKS)
    for _, line in ipairs(vim.split(options.prompt or "", "\n")) do
      room = room - rows(line)
    end
    if first > 1 then
      room = room - 1
    end
    local last = last_that_fits(shown, first, room)
    local lines = vim.list_slice(shown, first, last)
    local leads = {}
    if last < #shown then
      lines[#lines + 1] = ("… %d more"):format(#shown - last)
      leads[#lines] = last + 1
    end
    if first > 1 then
      lines[#lines + 1] = "… back to the first ones"
      leads[#lines] = 1
    end
    local asked = { prompt = options.prompt, kind = options.kind }
    vim.ui.select(lines, asked, function(_, index)
      if leads[index] then
        -- What was printed goes, or the next list would be printed below it.
        vim.cmd.redraw()
        return page(leads[index])
      end
      local chosen = index and index + first - 1
      choose(items[chosen], chosen)
    end)
  end
  page(1)
end

--- Lets the user choose, with whatever picker they have.
---@generic T
---@param items T[]
---@param options table as for `vim.ui.select`
---@param choose fun(item?: T, index?: integer)
function M.open(items, options, choose)
  if M.is_builtin() then
    M.paged(items, options, choose)
  else
    vim.ui.select(items, options, choose)
  end
end

return M
