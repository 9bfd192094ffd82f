--- Several files at once for the prompt, by the picker that the user has: snacks, telescope, fzf-lua or mini.pick,
--- each with its own keys to mark files. Without one, vim.ui.select is asked again until it is closed. What becomes of
--- the files is left to acp.add().

local M = {}

--- Adds the files of one choice to the prompt, once the picker is gone.
---@param paths string[]
local function add(paths)
  if #paths > 0 then
    vim.schedule(function()
      require("acp").add(paths)
    end)
  end
end

--- An absolute path.
---@param root string
---@param path string
---@return string
local function below(root, path)
  local is_absolute = path:find("^[/~]") or path:find("^%a:[/\\]")
  return is_absolute and path or vim.fs.joinpath(root, path)
end

--- A module of another plugin's, which is loaded lazily by many; nothing where there is no such plugin.
---@param name string
---@return table?
local function others(name)
  local ok, module = pcall(require, name)
  return ok and type(module) == "table" and module or nil
end

--- What each picker is called, whether it is there, and how it is opened. Each opens in the folder `root`.
---@type { name: string, open: fun(root: string): boolean }[]
local pickers = {
  {
    name = "snacks",
    open = function(root)
      local snacks = others("snacks")
      -- It is there for other things, too: its picker may be off.
      if not snacks or not vim.tbl_get(snacks, "config", "picker", "enabled") then
        return false
      end
      snacks.picker.files({
        cwd = root,
        title = "Add to the prompt",
        confirm = function(picker)
          local items = picker:selected({ fallback = true })
          picker:close()
          add(vim.tbl_map(function(item)
            return below(item.cwd or root, item.file)
          end, items))
        end,
      })
      return true
    end,
  },
  {
    name = "telescope",
    open = function(root)
      local builtin, actions = others("telescope.builtin"), others("telescope.actions")
      local state = others("telescope.actions.state")
      if not builtin or not actions or not state then
        return false
      end
      builtin.find_files({
        cwd = root,
        prompt_title = "Add to the prompt",
        attach_mappings = function(prompt)
          actions.select_default:replace(function()
            local entries = state.get_current_picker(prompt):get_multi_selection()
            if #entries == 0 then
              entries = { state.get_selected_entry() }
            end
            actions.close(prompt)
            add(vim.tbl_map(function(entry)
              return below(root, entry.path or entry[1])
            end, entries))
          end)
          return true
        end,
      })
      return true
    end,
  },
  {
    name = "fzf-lua",
    open = function(root)
      local fzf, path = others("fzf-lua"), others("fzf-lua.path")
      if not fzf or not path then
        return false
      end
      fzf.files({
        cwd = root,
        actions = {
          default = function(selected, opts)
            add(vim.tbl_map(function(line)
              return below(root, path.entry_to_file(line, opts).path)
            end, selected))
          end,
        },
      })
      return true
    end,
  },
  {
    name = "mini.pick",
    open = function(root)
      local pick = others("mini.pick")
      -- Without its setup() it has no mappings.
      -- selene: allow(global_usage)
      if not pick or not _G.MiniPick then
        return false
      end
      local function full(items)
        return vim.tbl_map(function(item)
          return below(root, item)
        end, items)
      end
      pick.builtin.files(nil, {
        source = {
          cwd = root,
          name = "Add to the prompt",
          choose = function(item)
            add(full({ item }))
          end,
          choose_marked = function(items)
            add(full(items))
          end,
        },
      })
      return true
    end,
  },
}

--- Asks again and again, until the list is closed.
---@param root string
---@param files string[]
local function ask(root, files)
  require("acp.select").open(files, { prompt = "Add to the prompt", kind = "acp_file" }, function(file, index)
    if not file then
      return
    end
    add({ below(root, file) })
    table.remove(files, index)
    if #files > 0 then
      vim.schedule(function()
        ask(root, files)
      end)
    end
  end)
end

--- Has the user pick files below `root` for the prompt.
---@param root string
function M.files(root)
  for _, picker in ipairs(pickers) do
    if picker.open(root) then
      return
    end
  end
  require("acp.complete").files("", function(files)
    files = vim.tbl_filter(function(file)
      return file:sub(-1) ~= "/"
    end, files)
    if #files == 0 then
      return require("acp.notify").show("no file was found in " .. root, vim.log.levels.WARN)
    end
    ask(root, files)
  end)
end

return M
