--- What the files in this folder share: checks that go on after a failure, notifications caught, and a
--- library that only writes down what it is asked.

local M = {}

local root =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(arg[0], ":p")))))
M.root = root
vim.opt.runtimepath:prepend(root)

local passed = 0
local failed = 0
local notes = {}

vim.notify = function(text, level)
  notes[#notes + 1] = { level, text }
end

--- The notifications since the last call, as { level, text }.
function M.notified()
  local taken = notes
  notes = {}
  return taken
end

function M.eq(what, got, want)
  if vim.deep_equal(got, want) then
    passed = passed + 1
  else
    failed = failed + 1
    print(("FAILED %s\nwanted %s\ngot    %s\n"):format(what, vim.inspect(want), vim.inspect(got)))
  end
end

--- Checks that `text` holds each of `parts`, literally.
function M.holds(what, text, parts)
  for _, part in ipairs(parts) do
    if text:find(part, 1, true) then
      passed = passed + 1
    else
      failed = failed + 1
      print(("FAILED %s should hold %q\n%s\n"):format(what, part, #text < 2000 and text or ""))
    end
  end
end

--- An error as the library raises it: not a string, and with a stack trace.
function M.native_error(text)
  return setmetatable({}, {
    __tostring = function()
      return ("runtime error: %s\nstack traceback:\n\t[C]: in ?"):format(text)
    end,
  })
end

--- A library that remembers what it was asked. `library.raises[name]` makes that function fail.
function M.library()
  local calls = {}
  local library = {
    version = "0.1.0",
    profile = "release",
    fingerprint = ("f"):rep(64),
    raises = {},
    calls = calls,
    answers = {},
  }
  local function asked(name, ...)
    calls[#calls + 1] = { name, ... }
    if library.raises[name] then
      error(library.raises[name], 0)
    end
  end
  function library.start(place)
    asked("start", place)
  end
  function library.configure(options)
    asked("configure", options)
  end
  function library.call(name, args)
    asked(name, args)
    if args and args["then"] then
      args["then"](library.answers[name] or {})
    end
    return library.answers[name]
  end
  function library.complete(kind, lead, args)
    asked("complete")
    calls[#calls] = nil
    return { ("%s %s after %s"):format(kind, lead, table.concat(args, ",")) }
  end
  function library.handle(kind, name, handler)
    asked("handle", kind, name, type(handler))
  end
  function library.status()
    return library.answers.status or { sessions = {}, agents = {} }
  end
  function library.shutdown()
    asked("shutdown")
  end
  --- What was asked since the last call.
  function library.asked()
    local taken = vim.deepcopy(calls)
    for index = #calls, 1, -1 do
      calls[index] = nil
    end
    return taken
  end
  return library
end

function M.done()
  print(("%d checks passed, %d failed"):format(passed, failed))
  vim.cmd(failed == 0 and "qall!" or "cquit")
end

return M
