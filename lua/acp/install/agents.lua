--- What is fetched for agents: the registry's index, and the programs that it names. What is fetched, where it goes
--- and whether the user has approved of it is decided by the caller.

local archive = require("acp.install.archive")
local download = require("acp.install.download")
local files = require("acp.install.file")
local task = require("acp.install.task")

local M = {}

--- Runs `work` in a task, and `clean` if it fails, is cancelled, or Neovim leaves before.
---@param work fun()
---@param clean fun()
---@param on_progress fun(text: string)
---@param on_done fun(err?: string)
---@return fun() cancel
local function start(work, clean, on_progress, on_done)
  local running = task.start(function()
    return task.with_cleanup(clean, work)
  end, {
    on_progress = on_progress,
    on_done = function(err)
      -- The listener must not be called from inside the call that it has just made.
      vim.schedule(function()
        on_done(err)
      end)
    end,
  })
  return function()
    running:cancel()
  end
end

--- Fetches a registry's index into a file.
---@param job { url: string, file: string }
---@param on_progress fun(text: string)
---@param on_done fun(err?: string)
---@return fun() cancel
function M.fetch(job, on_progress, on_done)
  return start(function()
    files.make_folder(vim.fs.dirname(job.file))
    local _, missing = download.fetch(job.url, job.file)
    if missing then
      task.fail(("couldn't fetch the registry: there is no such file at %s"):format(job.url))
    end
  end, function()
    os.remove(job.file)
  end, on_progress, on_done)
end

---@class acp.AgentDownload
---@field url string
---@field root string the folder of all downloaded agents
---@field folder string below `root`: what is downloaded comes to be there at once, and whole
---@field program string below `folder`
---@field sha256? string
---@field raw? string the name of the file where it is the program itself

--- How many downloads there were: each has a folder of its own to be put together in.
local count = 0

--- Downloads an agent, checks it and puts it where it is run from.
---@param job acp.AgentDownload
---@param on_progress fun(text: string)
---@param on_done fun(err?: string)
---@return fun() cancel
function M.download(job, on_progress, on_done)
  count = count + 1
  local unfinished = ("%s/.tmp-%d-%d"):format(job.root, vim.fn.getpid(), count)
  local content = unfinished .. "/content"
  local final = ("%s/%s"):format(job.root, job.folder)
  -- The name tells what kind of archive it is.
  local file = ("%s/%s"):format(unfinished, vim.fs.basename((job.url:gsub("[?#].*", ""))))
  return start(function()
    files.make_folder(unfinished)
    local _, missing = download.fetch(job.url, file)
    if missing then
      task.fail(("couldn't download %s: there is no such file"):format(job.url))
    end
    if job.sha256 then
      task.say("checking its SHA-256 sum")
      download.check(file, job.sha256)
    end
    if job.raw then
      local path = ("%s/%s"):format(content, job.raw)
      files.make_folder(vim.fs.dirname(path))
      assert(vim.uv.fs_rename(file, path))
    else
      task.say("unpacking it")
      archive.unpack(file, content)
    end
    local program = ("%s/%s"):format(content, job.program)
    local stat = vim.uv.fs_stat(program)
    if not stat or stat.type ~= "file" then
      task.fail(("couldn't use %s: there is no program %s in it"):format(vim.fs.basename(file), job.program))
    end
    assert(vim.uv.fs_chmod(program, bit.bor(bit.band(stat.mode, 511), 73)))
    files.make_folder(vim.fs.dirname(final))
    local ok, why = vim.uv.fs_rename(content, final)
    -- Another Neovim may have been faster: what is there is the same, since its name is made from what it is.
    if not ok and not vim.uv.fs_stat(final) then
      task.fail(("couldn't put it into %s: %s"):format(final, why))
    end
    vim.fn.delete(unfinished, "rf")
  end, function()
    vim.fn.delete(unfinished, "rf")
  end, on_progress, on_done)
end

return M
