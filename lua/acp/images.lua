--- Images in the chat, drawn under the lines that stand for them: by Neovim itself where it can
--- (vim.ui.img), else by snacks.nvim or image.nvim. Without any of them, and when one of them fails, the
--- lines are all there is. Which row stands for which file is the library's word.

local M = {
  --- Whether anything is drawn; the option `chat.images`.
  enabled = true,
}

local SPACE = vim.api.nvim_create_namespace("acp.images")

--- The most cells that an image takes.
local COLUMNS, ROWS = 60, 15

---@class acp.Image
---@field row integer 0-based
---@field path string
---@field width integer as pixels
---@field height integer

---@class acp.Drawn
---@field path string
---@field drop fun() takes it from the screen
---@field update? fun(buf: integer, row: integer) follows its line; for what does not do so by itself

--- By buffer and by the extmark at the line.
---@type table<integer, table<integer, acp.Drawn>>
local drawn = {}

--- How many cells an image takes in a window of this width, in the shape it has: a cell is about twice as
--- high as it is wide.
---@param image acp.Image
---@param room integer
---@return integer columns
---@return integer rows
local function cells(image, room)
  local columns = math.max(1, math.min(math.ceil(image.width / 10), room, COLUMNS))
  local rows = math.max(1, math.floor(columns * image.height / image.width / 2 + 0.5))
  if rows > ROWS then
    columns = math.max(1, math.floor(columns * ROWS / rows))
    rows = ROWS
  end
  return columns, rows
end

---@param buf integer
---@return integer?
local function window(buf)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

--- The screen's row under a line and its column, where as many rows follow in the window.
---@param buf integer
---@param row integer
---@param rows integer
---@return integer?
---@return integer?
local function place_under(buf, row, rows)
  local win = window(buf)
  if not win then
    return
  end
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  local at = vim.fn.screenpos(win, row + 1, math.max(1, #line))
  local info = vim.fn.getwininfo(win)[1]
  local last = info.winrow + (info.winbar or 0) + info.height - 1
  if at.row == 0 or at.row + rows > last then
    return
  end
  return at.row + 1, info.wincol + info.textoff
end

--- By Neovim itself, which draws a PNG at a place of the screen and leaves the rest to others.
---@param buf integer
---@param mark integer
---@param image acp.Image
---@return acp.Drawn?
local function native(buf, mark, image)
  local img = vim.ui.img
  if type(img) ~= "table" or type(img.set) ~= "function" or not image.path:find("%.png$") then
    return
  end
  local win = window(buf)
  local columns, rows = cells(image, (win and vim.api.nvim_win_get_width(win) or 80) - 4)
  local room = {}
  for _ = 1, rows do
    room[#room + 1] = { { "" } }
  end
  vim.api.nvim_buf_set_extmark(buf, SPACE, image.row, 0, { id = mark, virt_lines = room })
  local data ---@type string?
  local id ---@type integer?
  local shown = {} ---@type integer[]
  local self = { path = image.path }
  function self.drop()
    if id then
      pcall(img.del, id)
      id = nil
    end
  end
  function self.update(_, row)
    local top, left = place_under(buf, row, rows)
    if not data or not top then
      return self.drop()
    end
    if id and shown[1] == top and shown[2] == left then
      return
    end
    shown = { top, left }
    local options = { row = top, col = left, width = columns, height = rows, zindex = 20 }
    local ok, result = pcall(img.set, id or data, options)
    if ok and not id then
      id = result
    end
  end
  -- Reading waits for the disk, so not here.
  vim.uv.fs_open(image.path, "r", 438, function(_, file)
    local stat = file and vim.uv.fs_fstat(file)
    if not file or not stat then
      return
    end
    vim.uv.fs_read(file, stat.size, 0, function(_, bytes)
      vim.uv.fs_close(file)
      data = bytes
      vim.schedule(M.update)
    end)
  end)
  return self
end

---@param buf integer
---@param image acp.Image
---@return acp.Drawn?
local function by_snacks(buf, image)
  local ok, snacks = pcall(require, "snacks")
  if not ok or not snacks.image or not snacks.image.supports_terminal() then
    return
  end
  local placement = snacks.image.placement.new(buf, image.path, {
    pos = { image.row + 1, 0 },
    inline = true,
    max_width = COLUMNS,
    max_height = ROWS,
  })
  return {
    path = image.path,
    drop = function()
      placement:close()
    end,
  }
end

---@param buf integer
---@param image acp.Image
---@return acp.Drawn?
local function by_image_nvim(buf, image)
  local ok, module = pcall(require, "image")
  local win = window(buf)
  if not ok or not win or type(module.from_file) ~= "function" then
    return
  end
  local columns, rows = cells(image, vim.api.nvim_win_get_width(win) - 4)
  local object = module.from_file(image.path, {
    window = win,
    buffer = buf,
    with_virtual_padding = true,
    inline = true,
    x = 0,
    y = image.row,
    width = columns,
    height = rows,
  })
  if not object then
    return
  end
  object:render()
  return {
    path = image.path,
    drop = function()
      object:clear()
    end,
  }
end

---@param buf integer
---@param mark integer
---@param image acp.Image
---@return acp.Drawn?
local function draw(buf, mark, image)
  for _, by in ipairs({
    function()
      return native(buf, mark, image)
    end,
    function()
      return by_snacks(buf, image)
    end,
    function()
      return by_image_nvim(buf, image)
    end,
  }) do
    local ok, done = pcall(by)
    if ok and done then
      return done
    end
  end
end

---@param buf integer
---@param mark integer
local function drop(buf, mark)
  local one = drawn[buf][mark]
  drawn[buf][mark] = nil
  pcall(one.drop)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_del_extmark(buf, SPACE, mark)
  end
end

local waits = false

--- Has what is drawn stand where its lines stand now.
function M.update()
  if waits then
    return
  end
  waits = true
  vim.schedule(require("acp.notify").guarded(function()
    waits = false
    for buf, all in pairs(drawn) do
      for mark, one in pairs(all) do
        local at = vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_extmark_by_id(buf, SPACE, mark, {})
        if not at or #at == 0 then
          drop(buf, mark)
        elseif one.update then
          pcall(one.update, buf, at[1])
        end
      end
    end
  end))
end

---@param buf integer
local function attach(buf)
  drawn[buf] = {}
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if not drawn[buf] then
        return true
      end
      M.update()
    end,
    on_detach = function()
      for mark in pairs(drawn[buf] or {}) do
        pcall(drawn[buf][mark].drop)
      end
      drawn[buf] = nil
    end,
  })
  local group = vim.api.nvim_create_augroup("acp.images", { clear = true })
  vim.api.nvim_create_autocmd(
    { "WinScrolled", "WinResized", "VimResized", "BufWinEnter", "BufWinLeave", "WinClosed", "TabEnter" },
    { group = group, callback = M.update, desc = "acp: images stand where their lines do" }
  )
end

--- The lines from `first` to before `last` stand for these images and for no others.
---@param buf integer
---@param first integer
---@param last integer
---@param images acp.Image[]
function M.place(buf, first, last, images)
  if not M.enabled then
    images = {}
  elseif #images > 0 and not drawn[buf] then
    attach(buf)
  end
  if not drawn[buf] then
    return
  end
  local wanted = {}
  for _, image in ipairs(images) do
    wanted[image.row] = image
  end
  for _, at in ipairs(vim.api.nvim_buf_get_extmarks(buf, SPACE, { first, 0 }, { last - 1, -1 }, {})) do
    local one, image = drawn[buf][at[1]], wanted[at[2]]
    if one and image and one.path == image.path then
      wanted[at[2]] = nil
    elseif one then
      drop(buf, at[1])
    end
  end
  for row, image in pairs(wanted) do
    local mark = vim.api.nvim_buf_set_extmark(buf, SPACE, row, 0, {})
    drawn[buf][mark] = draw(buf, mark, image)
    if not drawn[buf][mark] then
      vim.api.nvim_buf_del_extmark(buf, SPACE, mark)
    end
  end
end

return M
