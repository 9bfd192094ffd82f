--- Which of the published libraries this Neovim can load, by the names of Rust's targets.

local M = {}

local ARCHITECTURES = { x64 = "x86_64", arm64 = "aarch64" }

--- Whether this very process runs on musl rather than glibc: both may be installed.
---@return boolean
local function on_musl()
  local text = require("acp.install.file").read("/proc/self/maps") or ""
  return text:find("ld-musl", 1, true) ~= nil or text:find("libc.musl", 1, true) ~= nil
end

--- What there is a library for, or nil and what this system is.
---@return string? target
---@return string? system
function M.here()
  local architecture = ARCHITECTURES[jit.arch]
  local system = ({ OSX = "apple-darwin", Windows = "pc-windows-msvc" })[jit.os]
  if jit.os == "Linux" then
    system = on_musl() and "unknown-linux-musl" or "unknown-linux-gnu"
  end
  local target = architecture and system and ("%s-%s"):format(architecture, system)
  if target and vim.list_contains(require("acp.targets"), target) then
    return target
  end
  return nil, ("%s on %s"):format(jit.os, jit.arch)
end

--- What cargo and the releases call the library's file here.
---@return string
function M.library()
  local names = { OSX = "libacp_nvim.dylib", Windows = "acp_nvim.dll" }
  return names[jit.os] or "libacp_nvim.so"
end

--- What the demo agent's program is called here.
---@return string
function M.demo_agent()
  return jit.os == "Windows" and "acp-demo-agent.exe" or "acp-demo-agent"
end

return M
