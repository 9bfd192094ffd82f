--- Runs Neovim's parsers in slices of some 2 ms, for tree-sitter's time may grow with the square of a text that is not
--- well formed. The parser itself keeps to the slice. When the next one comes is up to the caller, as is what becomes
--- of a text that is given up.

local M = {}

--- ms that one parse may take in all its slices. What needs more is given up. (Neovim's own 'redrawtime' is as long.)
M.MOST = 2000
--- Bytes of a text whose languages are read where Neovim can't search for them in slices.
M.MOST_UNSLICED = 100000

--- CPU seconds of a slice that a parser has not kept to, for each of its steps takes too long, and how many such slices
--- it may have.
local MISSED, MOST_MISSED = 0.008, 3

--- In ns. Tests put another one in its place.
M.clock = vim.uv.hrtime

--- Where `LanguageTree:parse()` has no callback, a parser has a time limit of its own. µs.
local SLICE = 2000
--- How much of Neovim's own time for a slice, 3 ms, a parse takes where it has one: a parser that meets errors looks at
--- the clock so seldom that it takes 2 ms more.
local SHARE = 2 / 3
local has_callback = vim.fn.has("nvim-0.11") == 1

--- Bytes of the texts that parsers were made for since the compiled code was last dropped, and how many there may be.
local parsed, MOST_PARSED = 0, 1000000

--- What LuaJIT has compiled keeps the objects that it was compiled with: a parser, too, with a tree that takes far more
--- memory than its text, long after nobody else knows it. So that code is dropped now and then; what is used is compiled
--- again, within milliseconds.
function M.forget()
  if parsed > 0 and jit then
    jit.flush()
  end
  parsed = 0
end

--- Bytes of the texts that parsers were made for since Lua's collector was last run for them, with what a parser takes
--- by itself, and how many there may be.
local uncollected, PARSER, MOST_UNCOLLECTED = 0, 500, 32768
--- ns that the collector is run for, for how many bytes that is, and how much it does between two looks at the clock:
--- one of these objects.
local COLLECTING, COLLECTED, STEPS = 2e6, 4096, 10

-- selene: allow(incorrect_standard_library_use)
--- Frees parsers and trees that nobody uses any more, a little at a time. Lua's collector knows nothing of the memory
--- behind them: it would let a hundred come together, and free them one after the other, for tens of ms.
---@return boolean worked
function M.collect()
  if uncollected < MOST_UNCOLLECTED then
    return false
  end
  local users, stop = collectgarbage("setstepmul", STEPS), vim.uv.hrtime() + COLLECTING
  local whole
  repeat
    whole = collectgarbage("step", 0)
  until whole or vim.uv.hrtime() > stop
  collectgarbage("setstepmul", users)
  -- Where Lua holds much, one round takes many slices, and what is to be coloured does not wait for all of them.
  uncollected = whole and 0 or uncollected - COLLECTED
  return true
end

--- Garbage, in bytes, that is worth as much of the collector's time as one byte that a parser read.
local GARBAGE = 128

local has_stopped = false

-- selene: allow(incorrect_standard_library_use)
--- Has Lua's collector wait until a function has returned. It runs whenever memory is asked for, and one step of its may
--- free twenty trees: 20 ms and more, in the midst of a slice. What it has missed is made up for by `collect`.
---@param f fun(...)
---@return boolean ok
---@return any result or error
function M.without_collector(f, ...)
  -- Whoever has stopped it wants it so. Up to Lua 5.1 it can't be asked.
  local asked, running = pcall(collectgarbage, "isrunning")
  if has_stopped or asked and not running then
    return pcall(f, ...)
  end
  has_stopped = true
  collectgarbage("stop")
  local before = collectgarbage("count")
  local ok, result = pcall(f, ...)
  uncollected = uncollected + math.max(collectgarbage("count") - before, 0) * 1024 / GARBAGE
  collectgarbage("restart")
  has_stopped = false
  return ok, result
end

--- CPU seconds that a slice of work takes, and when the one that is under way should end. (On a busy machine there may
--- be no time left before the first step.)
local WORK, ends = 0.002, math.huge

--- Begins a slice of work that is done step by step.
function M.begin_slice()
  ends = os.clock() + WORK
end

--- Whether the next step is for the next slice: each may take some ms.
---@return boolean
function M.is_over()
  return os.clock() > ends
end

--- CPU seconds of a slice after which no parser begins on a long text: it takes 3 ms, and then the step that it is in,
--- which may be as long.
local EARLY = 0.0003

--- Whether the slice has worked for so long already. What waits for the next one begins that, so it gets its turn.
---@return boolean
function M.is_late()
  return os.clock() > ends - WORK + EARLY
end

--- A parser over a text or a buffer. No other file makes one.
---@param source string|integer
---@param lang string
---@param opts table?
---@return vim.treesitter.LanguageTree
function M.parser(source, lang, opts)
  local is_text = type(source) == "string"
  local bytes = is_text and #source
    or vim.api.nvim_buf_get_offset(source, vim.api.nvim_buf_line_count(source))
  parsed, uncollected = parsed + bytes, uncollected + bytes + PARSER
  if parsed > MOST_PARSED then
    M.forget()
  end
  if is_text then
    return vim.treesitter.get_string_parser(source, lang, opts)
  end
  return assert(vim.treesitter.get_parser(source, lang, opts))
end

--- Has a parser search no language's trees for further languages where that would take too long: it is one query that
--- can't be paused.
---@param parser table
---@param is_tangled fun(tree: TSTree): boolean
function M.spare(parser, is_tangled)
  local add_child = parser.add_child
  parser.add_child = function(self, lang)
    local child = add_child(self, lang)
    local search = child._get_injections
    child._get_injections = function(...)
      for _, tree in pairs(child:trees()) do
        if is_tangled(tree) then
          return {}
        end
      end
      return search(...)
    end
    M.spare(child, is_tangled)
    return child
  end
end

---@class acp.highlight.Parse
---@field range boolean|Range
---@field resume fun()? takes the next slice
---@field finished boolean
---@field failure string?
---@field spent number ns
---@field missed integer slices that took too long

--- Where a parser has its parse under way. In a table of ours with weak keys it would never be freed: the parse
--- leads back to the parser.
local UNDER_WAY = {}
---@type table<vim.treesitter.LanguageTree, true>
local given_up = setmetatable({}, { __mode = "k" })

--- Takes a slice of a parse, and keeps what Neovim would do in the next tick. It would take slice after slice and not
--- redraw in between, and what is given up would go on.
---@param parse acp.highlight.Parse
---@param slice fun()
local function take(parse, slice)
  local schedule = vim.schedule
  parse.resume = nil
  vim.schedule = function(f) ---@diagnostic disable-line: duplicate-set-field
    if debug.getinfo(2, "S").source:find("languagetree", 1, true) then
      parse.resume = f
    else
      schedule(f)
    end
  end
  local ok, err = pcall(slice)
  vim.schedule = schedule
  if not ok then
    error(err, 0)
  end
end

---@type table<vim.treesitter.LanguageTree, true>
local limited = setmetatable({}, { __mode = "k" })

--- Has a parser's slices be shorter than Neovim would have them, in whatever unit it counts.
---@param parser table
local function shorten(parser)
  local parse = parser._parse
  if limited[parser] or not parse then
    return
  end
  limited[parser] = true
  parser._parse = function(self, range, state)
    local most = state.timeout and state.timeout * SHARE or math.huge
    -- What is left is set anew at the beginning of each slice.
    local less = setmetatable({}, {
      __index = function(_, key)
        local value = state[key]
        return key == "timeout" and value and math.min(value, most) or value
      end,
      __newindex = state,
    })
    return parse(self, range, less)
  end
end

---@param parser vim.treesitter.LanguageTree
---@param range boolean|Range
---@return acp.highlight.Parse
local function begin(parser, range)
  shorten(parser)
  local parse = { range = range, finished = false, spent = 0, missed = 0 }
  parse.resume = function()
    parser:parse(range, function(failure)
      parse.finished, parse.failure = true, failure
    end)
  end
  return parse
end

---@param parser table
local function limit(parser)
  parser._parser:set_timeout(SLICE)
  local add_child = parser.add_child
  parser.add_child = function(self, lang)
    local child = add_child(self, lang)
    limit(child)
    return child
  end
end

--- The same up to 0.10, where a parser that ran out of time is an error, and goes on where it was in the next call.
---@param parser vim.treesitter.LanguageTree
---@param range boolean|Range
---@return acp.highlight.Parse
local function begin_unsliced(parser, range)
  local parse = { range = range, finished = false, spent = 0, missed = 0 }
  if not limited[parser] then
    limited[parser] = true
    limit(parser)
  end
  local source = parser:source()
  if range and type(source) == "string" and #source > M.MOST_UNSLICED then
    parse.failure = "TOO LONG"
  end
  local function resume()
    if parse.failure then
      parse.finished = true
      return
    end
    local ok, err = pcall(parser.parse, parser, range)
    parse.finished = ok
    if not ok and tostring(err):find("An error occurred when parsing", 1, true) then
      parse.resume = resume
    elseif not ok then
      error(err, 0)
    end
  end
  parse.resume = resume
  return parse
end

--- Parses for one slice. To be called again, with the same range, until it is no longer "paused". A parser that was
--- given up is not used again; the trees that it has are good.
---@param parser vim.treesitter.LanguageTree
---@param range boolean|Range as `LanguageTree:parse()` takes it
---@return "done"|"paused"|"given up"
function M.parse(parser, range)
  if given_up[parser] then
    return "given up"
  end
  local before = rawget(parser, UNDER_WAY) ---@type acp.highlight.Parse?
  -- What was begun with another range is brought to its end first: a parser that has paused in one region
  -- can't begin with another.
  local parse = before or (has_callback and begin or begin_unsliced)(parser, range)
  rawset(parser, UNDER_WAY, parse)
  local began, cpu = M.clock(), os.clock()
  local slice = parse.resume
  if slice then
    local ok, err = pcall(take, parse, slice)
    if not ok then
      rawset(parser, UNDER_WAY, nil)
      given_up[parser] = true
      error(err, 0)
    end
  end
  parse.spent = parse.spent + M.clock() - began
  parse.missed = parse.missed + (os.clock() - cpu > MISSED and 1 or 0)
  if parse.finished and not parse.failure then
    rawset(parser, UNDER_WAY, nil)
    local other = before and not vim.deep_equal(before.range, range)
    return other and "paused" or "done"
  elseif parse.finished or parse.spent > M.MOST * 1e6 or parse.missed > MOST_MISSED then
    rawset(parser, UNDER_WAY, nil)
    given_up[parser] = true
    return "given up"
  end
  return "paused"
end

--- Parses all of a text of a few lines.
---@param parser vim.treesitter.LanguageTree
---@param range boolean|Range
function M.parse_all(parser, range)
  repeat
    local state = M.parse(parser, range)
  until state ~= "paused"
end

--- Whether a parser was given up.
---@param parser vim.treesitter.LanguageTree
---@return boolean
function M.gave_up(parser)
  return given_up[parser] == true
end

return M
