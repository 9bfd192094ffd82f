--- `:checkhealth acp`: what is there, what is missing and what to do about it.

local M = {}

local health = vim.health

--- Asks programs for their versions, all at once: some take a second to start. An agent that takes no --version gets no
--- input either, so it ends.
---@param programs string[]
---@return table<string, string> versions what each says first
local function versions_of(programs)
  local asked = {}
  for _, program in ipairs(programs) do
    -- By its full path: on Windows `npx` is `npx.cmd`, which is not found otherwise.
    local path = vim.fn.exepath(program)
    local ok, process = pcall(vim.system, { path, "--version" }, { text = true, stdin = false })
    if path ~= "" and ok then
      asked[program] = process
    end
  end
  local versions = {}
  for program, process in pairs(asked) do
    local result = process:wait(5000)
    local said = vim.trim(vim.split(result.stdout or "", "\n")[1])
    if result.code == 0 and said ~= "" then
      -- curl names every library that it was built with.
      versions[program] = vim.fn.strcharpart(said, 0, 60)
    end
  end
  return versions
end

local function check_neovim()
  health.start("acp: Neovim")
  if vim.fn.has("nvim-0.10") == 0 then
    health.error("Neovim is too old", { "Install Neovim 0.10 or newer." })
  else
    local version = vim.version()
    health.ok(("Neovim %d.%d.%d"):format(version.major, version.minor, version.patch))
  end
  if not package.loaded.jit then
    health.error("this Neovim has no LuaJIT", { "Install a Neovim that is built with LuaJIT." })
  end
end

---@param library acp.Native
---@param place acp.Place
local function describe_library(library, place)
  local built = require("acp.install.place").built(place.lib)
  local optimized = { dist = "optimized", release = "built quickly, so not fully optimized" }
  local lines = {
    ("%s, %s"):format(library.version, optimized[library.profile] or ("profile " .. library.profile)),
    place.lib,
    built and "from " .. built.from or nil,
  }
  lines[#lines + 1] = "of sources " .. library.fingerprint:sub(1, 16)
  health.ok(table.concat(lines, "\n"))
  if library.profile == "debug" then
    health.warn("this is a debug build: it is several times slower", { "Run `:Acp build`." })
  end
end

---@return acp.Native? library
---@return string? problem what keeps it from working with these options
local function check_library()
  health.start("acp: library")
  local loader = require("acp.native")
  local library, problem = require("acp").probe()
  if not library then
    health.error(problem or "the library does not load", {
      "Run `:Acp build`: it downloads the library, or builds it if you have Rust.",
    })
    health.info("looked for:\n" .. table.concat(loader.candidates(), "\n"))
    return nil, nil
  end
  local _, place = loader.load()
  describe_library(library, place)
  local outdated = loader.outdated(require("acp.install.fingerprint").of(loader.root()))
  if outdated then
    health.warn(outdated)
  elseif loader.rebuilt() then
    health.warn("there is a newer library than the one that is loaded", { "Restart Neovim." })
  end
  if place.demo then
    health.ok("demo agent: " .. place.demo)
  else
    health.info("the demo agent is not beside the library; `:Acp build!` gets it")
  end
  return library, problem
end

---@param problem? string
local function check_options(problem)
  health.start("acp: options")
  if not problem then
    return health.ok("no mistakes in the options given to setup()")
  end
  for _, line in ipairs(vim.split(problem, "\n", { trimempty = true })) do
    health.error(line)
  end
  health.info("`:help acp-config` describes all options")
end

---@param choice acp.AgentChoice
local function check_sandbox(choice)
  local name = ("%s's sandbox"):format(choice.title)
  if choice.sandbox_problem then
    health.error(
      ("%s: %s"):format(name, choice.sandbox_problem),
      { ("Set agents[%q].sandbox = false to start it without one."):format(choice.name) }
    )
  elseif choice.sandbox then
    local holds = ("%s: it %s\n%s\n"):format(name, choice.sandbox, choice.sandbox_holds or "")
    health.ok(holds .. "not held: what Neovim does for it when asked, see `:help acp-sandbox`")
    if vim.uv.getuid and vim.uv.getuid() == 0 then
      health.warn(name .. ": Neovim runs as root, whose other powers no sandbox takes away", {
        "Run Neovim as another user.",
      })
    end
  end
end

---@param choice acp.AgentChoice
---@param version? string
local function check_agent(choice, version)
  local name = ("%s (%s)"):format(choice.title, choice.name)
  local detail = choice.detail .. (version and "\nversion: " .. version or "")
  local login = choice.login and "\nlogin: " .. choice.login or ""
  if choice.found and choice.note then
    health.warn(("%s: %s%s"):format(name, detail, login), { choice.note })
  elseif choice.found then
    health.ok(("%s: %s%s"):format(name, detail, login))
  elseif choice.configured then
    health.error(("%s: %s"):format(name, choice.detail))
  elseif choice.install then
    health.info(("%s: %s; `%s`"):format(name, choice.status, choice.install))
  end
  check_sandbox(choice)
  return choice.found
end

-- What the disk has to be asked for is there after this long, or never.
local PATIENCE = 2000

--- The program that a choice starts; not those that would fetch the agent only to say its version.
---@param choice acp.AgentChoice
---@return string?
local function program_of(choice)
  local program = choice.found and choice.detail:match("^(%S+)")
  local name = program and vim.fs.basename(program):gsub("%.cmd$", "")
  if program and not vim.list_contains({ "npx", "uvx", "docker", "ssh" }, name) then
    return program
  end
end

--- Whether chats begin with an agent that there is. That one of the registry may be missing here is no mistake in the
--- options.
---@param choices acp.AgentChoice[]
local function check_default(choices)
  local _, _, options = require("acp").probe()
  local name = options.default_agent
  for _, choice in ipairs(choices) do
    if name == choice.name or name == choice.id then
      return
    end
  end
  if name then
    health.warn(("default_agent: no agent is called %q, as far as is known here"):format(name), {
      "`:Acp agents` lists those there are, and `:Acp agents!` fetches the registry first.",
    })
  end
end

local function check_agents()
  health.start("acp: agents")
  local certain
  local choices, problem = require("acp").agents(function(list)
    certain = list
  end)
  if problem then
    return health.error("couldn't list the agents: " .. problem)
  end
  vim.wait(PATIENCE, function()
    return certain ~= nil
  end, 10)
  choices = certain or choices or {}
  local programs = {}
  for _, choice in ipairs(choices) do
    programs[#programs + 1] = program_of(choice)
  end
  local versions = versions_of(programs)
  check_default(choices)
  local found, others = 0, 0
  for _, choice in ipairs(choices) do
    found = found + (check_agent(choice, versions[program_of(choice)]) and 1 or 0)
    others = others + ((choice.found or choice.configured or choice.install) and 0 or 1)
  end
  if others > 0 then
    health.info(("%d more of the registry are known: `:Acp agents` lists them"):format(others))
  end
  if found == 0 then
    health.warn("no agent was found", { "`:Acp agents` shows how to get each of them." })
  end
end

local function check_programs()
  health.start("acp: other programs")
  local programs = { "node", "npx", "uvx", "curl", "tar", "cargo" }
  local versions = versions_of(programs)
  local needed = {
    node = "agents that are npm packages need Node.js",
    npx = "agents that are npm packages need Node.js",
    uvx = "agents that are Python packages need uv",
    curl = "the library and agents are downloaded with curl or wget",
    tar = "downloads are unpacked with tar",
    cargo = "the library is built with it where none is published",
  }
  for _, program in ipairs(programs) do
    if versions[program] then
      local said = versions[program]
      health.ok(vim.startswith(said, program) and said or ("%s %s"):format(program, said))
    else
      health.info(("%s is not found: %s"):format(program, needed[program]))
    end
  end
end

local function check_parsers()
  health.start("acp: Markdown")
  local missing = {}
  for _, language in ipairs({ "markdown", "markdown_inline" }) do
    if #vim.api.nvim_get_runtime_file(("parser/%s.*"):format(language), false) == 0 then
      missing[#missing + 1] = language
    end
  end
  if #missing == 0 then
    return health.ok("the treesitter parsers are there")
  end
  health.warn(
    ("no treesitter parser for %s: answers are shown without colours"):format(table.concat(missing, ", ")),
    {
      "Neovim comes with both; if your package does not, install them, with nvim-treesitter for example.",
    }
  )
end

local function check_folders()
  for _, folder in ipairs(require("acp").status().unwatched or {}) do
    local setting = folder.why:match("fs%.inotify%.[%w_]+")
    local advice = setting
        and ("Raise it: `sudo sysctl %s=%s`."):format(
          setting,
          setting:find("instances") and "1024" or "1048576"
        )
      or "Have a .gitignore or .ignore leave out folders that are not worked on."
    health.warn(
      ("%s is not watched: %s; what changes there is %s"):format(
        folder.folder,
        folder.why,
        folder.noticed == "never" and "not noticed, unless a tool call names it"
          or "only noticed when a tool call or a turn ends"
      ),
      { advice }
    )
  end
end

local function check_processes()
  health.start("acp: processes")
  local status = require("acp").status()
  health.info("log: " .. (status.log or vim.fn.stdpath("log") .. "/acp.log"))
  local running = vim.tbl_filter(function(agent)
    return agent.state == "running"
  end, status.agents)
  for _, agent in ipairs(running) do
    health.info(
      ("%s runs as process %s; it ends with Neovim, or with `:Acp stop`"):format(
        agent.title or agent.agent,
        agent.pid
      ) .. (agent.login and "\nlogin: " .. agent.login or "")
    )
  end
  if #running == 0 then
    health.ok("no agent runs")
  end
end

local function check_tools()
  health.start("acp: tools for agents")
  local calls = require("acp.tools").calls
  local names = vim.tbl_keys(calls)
  if #names == 0 then
    return health.info("no agent has called one of Neovim's tools yet; `:help acp-tools`")
  end
  table.sort(names)
  health.ok("agents have called: " .. table.concat(
    vim.tbl_map(function(name)
      return ("%s (%d)"):format(name, calls[name])
    end, names),
    ", "
  ))
end

-- The completion plugin is asked in a buffer like a prompt: it decides by filetype.
local function check_completion()
  health.start("acp: completion")
  local prompt = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_call(prompt, function()
    vim.cmd("noautocmd setlocal filetype=acp-prompt")
    local complete = require("acp.complete")
    local _, _, options = require("acp").probe()
    if (vim.tbl_get(options, "prompt", "complete") or "auto") == "auto" then
      -- As it is once there is a prompt.
      complete.join()
    end
    local name, shows = complete.plugin()
    if not name then
      health.ok("the plugin's own menu completes in prompts")
    elseif shows then
      health.ok(("%s completes in prompts"):format(name))
    else
      health.info(
        ("%s doesn't complete in prompts, so the plugin's own menu opens there; `:help acp-completion`"):format(
          name
        )
      )
    end
  end)
  vim.api.nvim_buf_delete(prompt, { force = true })
end

function M.check()
  check_neovim()
  local library, problem = check_library()
  if library then
    check_options(problem)
  end
  -- With wrong options nothing can be asked of it.
  local usable = library ~= nil and problem == nil
  if usable then
    check_agents()
  end
  check_programs()
  check_parsers()
  check_completion()
  require("acp.health.neighbours").bars()
  local system = require("acp.health.system")
  system.clipboard()
  system.terminal()
  system.plugin_manager()
  system.leftovers(require("acp.native").root())
  if usable then
    check_tools()
    check_folders()
    check_processes()
  end
end

return M
