--- The languages of code. Those of fences are loaded before the first text in them is read: each part of one
--- takes Neovim some milliseconds that cannot be cut, so it is one part to a tick.

local spans = require("acp.highlight.spans")
local ts = vim.treesitter

local M = {}

--- The language of a file type, loaded, if its colours can be had.
---@param filetype string
---@return string?
function M.find(filetype)
  local lang = filetype ~= "" and ts.language.get_lang(filetype) or nil
  if not lang or (lang ~= filetype and not pcall(ts.language.add, lang)) then
    lang = filetype
  end
  -- Up to 0.10 a missing parser is an error, later it is nil.
  local ok, found = pcall(ts.language.add, lang)
  if not ok or (vim.fn.has("nvim-0.11") == 1 and not found) then
    return nil
  end
  return lang
end

--- What there is to load of a language beside its parser.
---@type (fun(lang: string))[]
local QUERIES = {
  function(lang)
    ts.query.get(lang, "injections")
  end,
  spans.query,
}

---@type table<string, string|false> the language of each name that a fence had, if there is one
local found = {}
---@type table<string, integer> how many queries of a language are there
local loaded = {}

--- Loads a part of a language, if one is missing.
---@param name string as it stands after a fence's backticks, or a file type
---@return boolean worked
function M.load_part(name)
  if found[name] == nil then
    found[name] = M.find(name:lower()) or false
    return true
  end
  local lang = found[name]
  local query = lang and (loaded[lang] or 0) + 1
  if query and QUERIES[query] then
    loaded[lang] = query
    -- One that fails does so again where it is used, and is reported there.
    pcall(QUERIES[query], lang)
    return true
  end
  return false
end

--- Loads a part of a language that a line opens a fence of, if one is missing.
---@param lines string[]
---@return boolean worked
function M.load_next(lines)
  for _, line in ipairs(lines) do
    local name = line:match("^%s*```+%s*([%w_+#-]+)") or line:match("^%s*~~~+%s*([%w_+#-]+)")
    if name and M.load_part(name) then
      return true
    end
  end
  return false
end

return M
