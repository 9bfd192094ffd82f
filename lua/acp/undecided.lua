--- Whether something is left to decide in this project, without the library: a look for files of the plugin's state,
--- after Neovim has started. The library, which knows what is in them, is only loaded if there are some.

local M = {}

--- The name of a project's folder, as `core/store/project.rs` makes it.
---@param root string
---@return string
function M.project_name(root)
  local name = root:gsub("[/\\:]", "%%")
  local start = math.max(#name - 200, 0) + 1
  -- Not within a character.
  while start <= #name and name:byte(start) >= 0x80 and name:byte(start) < 0xc0 do
    start = start + 1
  end
  return name:sub(start)
end

--- Calls `then_do` with the names of what is in the folder of all projects.
---@param then_do fun(names: table<string, boolean>)
local function projects(then_do)
  local folder = vim.fs.joinpath(vim.fn.stdpath("state"), "acp", "reviews")
  vim.uv.fs_scandir(folder, function(_, entries)
    local names = {}
    local name = entries and vim.uv.fs_scandir_next(entries)
    while name do
      names[name] = true
      name = vim.uv.fs_scandir_next(entries)
    end
    if next(names) then
      vim.schedule(function()
        then_do(names)
      end)
    end
  end)
end

--- Has what was left to decide stand again, if something was in the folder that Neovim works in or around it.
function M.look()
  local here = vim.fn.getcwd()
  projects(function(names)
    vim.uv.fs_realpath(here, function(_, real)
      vim.schedule(function()
        local folder = real or here
        repeat
          if names[M.project_name(folder)] then
            require("acp").call("adopt")
            return
          end
          local above = vim.fs.dirname(folder)
          local is_top = above == folder
          folder = above
        until is_top
      end)
    end)
  end)
end

return M
