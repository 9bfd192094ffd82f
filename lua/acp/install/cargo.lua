--- The library built on this machine, for systems and sources that nothing is published for.

local process = require("acp.install.process")
local target = require("acp.install.target")
local task = require("acp.install.task")

local M = {}

M.COMMAND = "cargo build --release"

---@return boolean
function M.is_there()
  return vim.fn.executable("cargo") == 1
end

--- Says how far cargo is: `Building [=====>    ] 41/120: syn, serde`.
---@param line string
local function progress(line)
  local done, all, what = line:match("(%d+)/(%d+):%s*([^,%s(]*)")
  if done then
    return ("building the library: %s of %s%s"):format(done, all, what ~= "" and ", " .. what or "")
  elseif line:find("^%s*Blocking waiting for file lock") then
    return "building the library: waiting for another cargo"
  elseif line:find("^%s*Updating ") or line:find("^%s*Downloading ") then
    return "building the library: downloading its dependencies"
  end
end

--- What cargo has built, by its messages in JSON.
---@param messages string
---@return table<string, string> paths by file name
local function artifacts(messages)
  local found = {}
  for line in messages:gmatch("[^\n]+") do
    local ok, message = pcall(vim.json.decode, line)
    if ok and message.reason == "compiler-artifact" then
      for _, path in ipairs(message.filenames) do
        found[vim.fs.basename(path)] = path
      end
    end
  end
  return found
end

--- The line in cargo's words that says what is wrong.
---@param ran acp.Ran
---@return string
local function reason(ran)
  local said = "\n" .. ran.err
  return said:match("\n(error: linker[^\r\n]+)") or said:match("\n(error[^\r\n]+)") or process.last_words(ran)
end

--- Builds in the plugin's folder, in a task, and copies what was built into a folder of its own.
---@param root string
---@param scratch string
---@return string folder holds the library and the demo agent
function M.build(root, scratch)
  task.say("building the library: starting cargo")
  local cmd = {
    "cargo",
    "build",
    "--release",
    "--locked",
    "--message-format=json-render-diagnostics",
    "--manifest-path",
    root .. "/Cargo.toml",
  }
  if not vim.uv.fs_access(root, "W") then
    vim.list_extend(cmd, { "--target-dir", vim.fn.stdpath("cache") .. "/acp/target" })
  end
  local said
  local ran = process.run(cmd, {
    cwd = root,
    env = {
      CARGO_TERM_PROGRESS_WHEN = "always",
      CARGO_TERM_PROGRESS_WIDTH = "80",
      CARGO_TERM_COLOR = "never",
    },
    on_line = function(line)
      local text = progress(line)
      if text and text ~= said then
        said = text
        task.say(text)
      end
    end,
  })
  if ran.code ~= 0 then
    task.fail(("couldn't build the library: %s"):format(reason(ran)))
  end
  local found = artifacts(ran.out)
  local folder = scratch .. "/built"
  vim.fn.mkdir(folder)
  for _, name in ipairs({ target.library(), target.demo_agent() }) do
    if found[name] then
      assert(vim.uv.fs_copyfile(found[name], folder .. "/" .. name))
    end
  end
  if not found[target.library()] then
    task.fail(("couldn't build the library: cargo made no %s"):format(target.library()))
  end
  return folder
end

return M
