--- Files from the web: fetched by `curl` or `wget`, over https only, and checked against a SHA-256 sum. Knows neither
--- releases nor agents.

local files = require("acp.install.file")
local process = require("acp.install.process")
local task = require("acp.install.task")

local M = {}

-- Larger than anything that is fetched here.
local MOST_BYTES = 500 * 1024 * 1024

--- This machine alone may be asked without encryption.
---@param url string
local function is_allowed(url)
  return vim.startswith(url, "https://")
    or url:find("^http://127%.0%.0%.1[:/]") ~= nil
    or url:find("^http://localhost[:/]") ~= nil
    or url:find("^http://%[::1%][:/]") ~= nil
end

--- What curl's exit codes mean to a user, by `man curl`.
local REASONS = {
  [5] = "the proxy's name is unknown",
  [6] = "no such host, or no network",
  [7] = "the server refused the connection",
  [18] = "the connection ended early",
  [23] = "the disk is full, or the folder can't be written",
  [28] = "the server is too slow",
  [35] = "the encrypted connection failed",
  [56] = "the connection broke",
  [60] = "the server's certificate isn't trusted",
  [63] = "the file is too large",
}

---@param url string
---@param path string
local function by_curl(url, path)
  local last
  local ran = process.run({
    "curl",
    "--fail",
    "--location",
    "--progress-bar",
    "--proto",
    vim.startswith(url, "https://") and "=https" or "=http",
    "--proto-redir",
    "=https",
    "--connect-timeout",
    "20",
    -- A kilobyte a second is the least.
    "--speed-limit",
    "1000",
    "--speed-time",
    vim.env.ACP_NVIM_SLOW or "30",
    "--max-filesize",
    tostring(MOST_BYTES),
    "--write-out",
    "%{http_code}",
    "--output",
    path,
    url,
  }, {
    on_line = function(line)
      local percent = line:match("(%d+)%.%d%%%s*$")
      if percent and percent ~= last then
        last = percent
        task.say(("downloading %s: %s%%"):format(vim.fs.basename(url), percent))
      end
    end,
  })
  local status = tonumber(ran.out:match("(%d+)%s*$"))
  if ran.code == 22 then
    return status or 0, status == 404 and "no such file there" or ("the server answered %s"):format(status)
  elseif ran.code ~= 0 then
    return 0, REASONS[ran.code] or process.last_words(ran)
  end
  return status
end

---@param url string
---@param path string
local function by_wget(url, path)
  task.say("downloading " .. vim.fs.basename(url))
  local ran = process.run({ "wget", "-q", "-T", vim.env.ACP_NVIM_SLOW or "30", "-O", path, url })
  if ran.code ~= 0 then
    -- GNU's says 8 for an answer that is an error; BusyBox's says 1 for everything.
    local missing = ran.code == 8 or ran.err:find("404", 1, true)
    return missing and 404 or 0, missing and "no such file there" or process.last_words(ran)
  end
  return 200
end

--- Fetches a file, in a task. Without `path` it is small and its content is returned. A file that can't be fetched
--- whole is not there afterwards.
---@param url string
---@param path? string
---@return string? content
---@return integer? missing 404 if the server has no such file; all else raises one line
function M.fetch(url, path)
  if not is_allowed(url) then
    task.fail(("couldn't download %s: the address should begin with https://"):format(url))
  end
  local way = vim.fn.executable("curl") == 1 and by_curl or vim.fn.executable("wget") == 1 and by_wget
  if not way then
    task.fail(("couldn't download %s: neither curl nor wget is installed"):format(url))
  end
  local file = path or vim.fn.tempname()
  local ok, status, why = pcall(way, url, file)
  if not ok or why then
    os.remove(file)
    if not ok then
      error(status, 0)
    elseif status == 404 then
      return nil, 404
    end
    local host = url:match("^%a+://([^/]+)")
    task.fail(("couldn't download %s from %s: %s"):format(vim.fs.basename(url), host, why))
  end
  if path then
    return nil
  end
  local content = files.read(file)
  os.remove(file)
  return content
end

--- The programs that compute a SHA-256 sum, by system.
local SUMMERS = {
  { "sha256sum" },
  { "shasum", "-a", "256" },
  { "openssl", "dgst", "-sha256", "-r" },
  { "certutil", "-hashfile" },
}

--- The SHA-256 sum of a file in hex, in a task.
---@param path string
---@return string
function M.sha256(path)
  for _, summer in ipairs(SUMMERS) do
    if vim.fn.executable(summer[1]) == 1 then
      local cmd = vim.list_extend(vim.list_extend({}, summer), { path })
      if summer[1] == "certutil" then
        cmd[#cmd + 1] = "SHA256"
      end
      local ran = process.run(cmd)
      for word in ran.out:gmatch("%x+") do
        if ran.code == 0 and #word == 64 then
          return word:lower()
        end
      end
    end
  end
  return task.fail(
    ("couldn't check %s: none of sha256sum, shasum, openssl and certutil is installed"):format(
      vim.fs.basename(path)
    )
  ) --[[@as string]]
end

--- Raises one line unless the file has this sum, in a task.
---@param path string
---@param wanted string as hex digits
function M.check(path, wanted)
  local sum = M.sha256(path)
  if sum ~= wanted:lower() then
    task.fail(
      ("couldn't use %s: its SHA-256 sum is %s… and should be %s…; it is damaged, or not what was published"):format(
        vim.fs.basename(path),
        sum:sub(1, 12),
        wanted:sub(1, 12)
      )
    )
  end
end

return M
