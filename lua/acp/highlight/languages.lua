--- The languages of fences, loaded before the first text in them is read. Each part of one takes Neovim some
--- milliseconds that cannot be cut, so it is one part to a tick.

local spans = require("acp.highlight.spans")
local ts = vim.treesitter

local M = {}

---@type (fun(lang: string))[]
local PARTS = {
  function(lang)
    assert(ts.language.add(lang))
  end,
  function(lang)
    ts.query.get(lang, "injections")
  end,
  spans.query,
}

---@type table<string, integer> how many parts of a language are there
local loaded = {}

--- Loads a part of a language that a line opens a fence of, if one is missing.
---@param lines string[]
---@return boolean worked
function M.load_next(lines)
  for _, line in ipairs(lines) do
    local info = line:match("^%s*```+%s*([%w_+#-]+)") or line:match("^%s*~~~+%s*([%w_+#-]+)")
    if info then
      local lang = ts.language.get_lang(info:lower()) or info:lower()
      local part = (loaded[lang] or 0) + 1
      if PARTS[part] then
        -- Of a language that is not there nothing more is looked for.
        loaded[lang] = pcall(PARTS[part], lang) and part or #PARTS
        return true
      end
    end
  end
  return false
end

return M
