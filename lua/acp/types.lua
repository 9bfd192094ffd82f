---@meta
--- Types for the language server: what setup() takes, what the functions give, and what the library offers
--- to this plugin's own Lua. Never loaded. |acp-config| says what each option does.

---@class acp.Options
---@field agents? table<string, acp.AgentOptions>
---@field default_agent? string
---@field window? acp.WindowOptions
---@field icons? boolean
---@field follow? boolean
---@field keys? acp.KeyOptions
---@field terminal? acp.TerminalOptions
---@field diff? acp.DiffOptions
---@field files? acp.FileOptions
---@field mcp_servers? acp.McpServer[]
---@field additional_directories? string[]
---@field projects? table<string, acp.ProjectOptions>
---@field log? boolean|string
---@field notify? boolean
---@field timeouts? acp.TimeoutOptions

---@class acp.ProjectOptions
---@field mcp_servers? acp.McpServer[]
---@field additional_directories? string[]

---@class acp.AgentOptions
---@field command? string
---@field args? string[]
---@field cmd? string[] program and arguments, in place of `command` and `args`
---@field env? table<string, string|number>
---@field cwd? string
---@field title? string
---@field mcp_servers? acp.McpServer[]
---@field enabled? boolean

---@class acp.WindowOptions
---@field layout? "right"|"left"|"bottom"|"top"|"float"|"tab"|"current"
---@field width? number|string
---@field height? number|string
---@field prompt_height? integer

---@alias acp.Key string|string[]|false

---@class acp.KeyOptions
---@field send? acp.Key
---@field send_insert? acp.Key
---@field steer? acp.Key
---@field cancel? acp.Key
---@field prompt? acp.Key
---@field next_entry? acp.Key
---@field previous_entry? acp.Key
---@field go_to? acp.Key
---@field toggle? acp.Key
---@field next_mode? acp.Key
---@field restart? acp.Key
---@field hide? acp.Key
---@field help? acp.Key

---@class acp.TerminalOptions
---@field auto_open? "always"|"long"|"never"
---@field position? "bottom"|"top"|"right"|"left"|"tab"
---@field size? number|string
---@field auto_close? "never"|"success"
---@field input? boolean
---@field limit? integer
---@field timeout? number|false seconds
---@field output_limit? integer bytes

---@class acp.FileOptions
---@field conflict? "ask"|"refuse"|"markers"
---@field save? "clean"|"always"
---@field format_on_save? boolean
---@field unsaved? "mention"|"save"|"nothing"

---@class acp.DiffOptions
---@field style? "inline"|"off"

---@class acp.TimeoutOptions
---@field initialize? number seconds

--- As ACP writes it. With `command` it is started, with `url` it is spoken to.
---@class acp.McpServer
---@field name string
---@field type? "stdio"|"http"|"sse"
---@field command? string
---@field args? string[]
---@field env? table<string, string|number>|{ name: string, value: string }[]
---@field url? string
---@field headers? table<string, string|number>|{ name: string, value: string }[]

---@class acp.ChatOptions
---@field agent? string
---@field new? boolean another session, though one is there
---@field range? acp.Range

--- Lines of a buffer, the last one included.
---@class acp.Range
---@field buffer integer
---@field first integer
---@field last integer

--- What the agents do not say is absent.
---@class acp.Status
---@field sessions acp.SessionStatus[] the one that commands mean comes first
---@field agents acp.AgentStatus[]
---@field following? boolean
---@field log? string the log's path, if messages are written to it

---@class acp.SessionStatus
---@field session integer
---@field name string the agent's name in the options
---@field agent string the agent's name as it is shown
---@field title? string
---@field cwd string
---@field state acp.State
---@field buffer? integer the transcript
---@field prompt? integer the prompt's buffer
---@field mode? string
---@field model? string
---@field queued? integer prompts that wait for the turn to end
---@field context? integer percent of the model's context that is used
---@field cost? string

---@alias acp.State "starting"|"idle"|"working"|"waiting"|"failed"|"ended"

--- A process that this Neovim has started.
---@class acp.AgentStatus
---@field agent string the agent's name in the options
---@field pid? integer
---@field state "running"|"ended"

--- An agent that may be started, as the library describes it to |:checkhealth|.
---@class acp.AgentChoice
---@field name string
---@field title string
---@field detail string
---@field found boolean
---@field configured boolean
---@field install? string
---@field login? string

--- Answers a request of a method beyond the protocol with what it returns, which JSON must be able to hold;
--- nothing is null. An error is the agent's error. It runs while Neovim waits.
---@alias acp.RequestHandler fun(params: any, session?: integer): any

--- Takes a notification of a method beyond the protocol. `session` is the number of the session that the
--- agent names, if it names one of yours.
---@alias acp.NotificationHandler fun(params: any, session?: integer)

--- What a command was given.
---@class acp.Args
---@field args? string[]
---@field text? string the arguments as they were written
---@field bang? boolean
---@field range? acp.Range

--- The library. Each function may raise; the error's `tostring()` is the text for the user.
---@class acp.Native
---@field version string as in Cargo.toml
---@field profile "release"|"debug"
---@field start fun(place: { root: string, lib: string, demo?: string }) once, before the others
---@field configure fun(options: acp.Options) raises one line for each mistake
---@field call fun(name: string, args: acp.Args): any
---@field complete fun(kind: string, lead: string, args: string[]): string[]
---@field status fun(session?: integer): acp.Status
---@field handle fun(kind: "request"|"notification", name: string, handler?: function)
---@field shutdown fun() ends all agents; takes half a second at most
