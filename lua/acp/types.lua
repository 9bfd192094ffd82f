---@meta
--- Types for the language server: what setup() takes, what the functions give, and what the library offers
--- to this plugin's own Lua. Never loaded. |acp-config| says what each option does.

-- From here to the next such line made from src/config; `ACP_WRITE_HELP=1 cargo test help` writes it.

---@class acp.Options
---@field agents? table<string, acp.AgentOptions>
---@field default_agent? string
---@field icons? boolean
---@field timestamps? boolean
---@field follow? boolean|acp.FollowOptions
---@field keys? acp.KeyOptions
---@field mcp_servers? acp.McpServer[]
---@field tools? boolean
---@field tools_denied? string[]
---@field tools_transport? "stdio"|"http"|"acp"
---@field additional_directories? string[]
---@field projects? table<string, acp.ProjectOptions>
---@field log? boolean|string
---@field notify? boolean
---@field bell? boolean
---@field record? boolean
---@field audit? boolean
---@field login_commands? boolean
---@field registry? acp.RegistryOptions
---@field window? acp.WindowOptions
---@field prompt? acp.PromptOptions
---@field permission? acp.PermissionOptions
---@field auto? acp.AutoOptions
---@field limits? acp.LimitOptions
---@field chat? acp.ChatOptions
---@field terminal? acp.TerminalOptions
---@field diff? acp.DiffOptions
---@field files? acp.FilesOptions
---@field checkpoints? acp.CheckpointOptions
---@field timeouts? acp.TimeoutOptions
---@field recovery? acp.RecoveryOptions

---@class acp.AgentOptions
---@field command? string|string[]
---@field args? string[]
---@field env? table<string, string|number>
---@field cwd? string
---@field url? string
---@field headers? table<string, string>
---@field paths? table<string, string>
---@field files? boolean
---@field terminals? boolean
---@field sandbox? "project"|false|acp.Sandbox
---@field title? string
---@field mcp_servers? acp.McpServer[]
---@field tools? boolean
---@field tools_denied? string[]
---@field tools_transport? "stdio"|"http"|"acp"
---@field dialect? "official"|"draft"
---@field protocol? 1|2
---@field enabled? boolean
---@field follow? boolean
---@field mode? string
---@field system_prompt? string
---@field system_prompt_mode? "append"|"override"
---@field model? string
---@field effort? string
---@field options? table<string, string|number|boolean>
---@field cmd? string[]

---@class acp.RegistryOptions
---@field url? string

---@class acp.WindowOptions
---@field layout? "right"|"left"|"bottom"|"top"|"float"|"tab"|"current"
---@field width? number|string
---@field height? number|string
---@field prompt_height? integer

---@class acp.PromptOptions
---@field complete? "auto"|"always"|"never"
---@field suggestions? boolean

---@class acp.FollowOptions
---@field enabled? boolean
---@field resume_after? number
---@field window? fun(place: acp.Location): integer|boolean|nil

---@class acp.PermissionOptions
---@field open? "auto"|"always"|"never"
---@field rules? acp.Rule[]
---@field sets? acp.RuleSet[]

---@class acp.AutoOptions
---@field questions? "wait"|"reject"
---@field reason? string

---@class acp.LimitOptions
---@field turn? acp.TurnLimits
---@field session? acp.SessionLimits

---@class acp.TurnLimits
---@field time? number
---@field cost? number
---@field commands? integer
---@field files? integer
---@field lines? integer

---@class acp.SessionLimits
---@field time? number
---@field cost? number
---@field commands? integer
---@field files? integer
---@field lines? integer

---@class acp.ChatOptions
---@field images? "auto"|"link"

---@class acp.TerminalOptions
---@field auto_open? "always"|"long"|"never"
---@field position? "bottom"|"top"|"right"|"left"|"tab"
---@field size? number|string
---@field auto_close? "never"|"success"
---@field input? boolean
---@field enabled? boolean
---@field limit? integer
---@field timeout? number|false
---@field output_limit? integer

---@class acp.DiffOptions
---@field style? "inline"|"split"|"off"
---@field stay? "decided"|"prompt"|"turn"
---@field persist? boolean
---@field tell_undone? boolean

---@class acp.FilesOptions
---@field conflict? "ask"|"refuse"|"markers"
---@field save? "clean"|"always"
---@field format_on_save? boolean
---@field unsaved? "mention"|"save"|"nothing"
---@field reads? boolean
---@field writes? boolean
---@field outside? "ask"|"refuse"
---@field allowed? acp.AllowedPaths

---@class acp.AllowedPaths
---@field read? string[]
---@field write? string[]

---@class acp.CheckpointOptions
---@field enabled? boolean
---@field days? integer
---@field size? integer

---@class acp.TimeoutOptions
---@field initialize? number
---@field request? number

---@class acp.RecoveryOptions
---@field again? boolean
---@field reconnect? boolean
---@field longest? number

---@class acp.ProjectOptions
---@field mcp_servers? acp.McpServer[]
---@field tools? boolean
---@field tools_denied? string[]
---@field additional_directories? string[]
---@field system_prompt? string

---@alias acp.Key string|string[]|false

---@class acp.KeyOptions
---@field send? acp.Key
---@field send_insert? acp.Key
---@field steer? acp.Key
---@field cancel? acp.Key
---@field next_mode? acp.Key
---@field next_mode_insert? acp.Key
---@field take_suggestion? acp.Key
---@field take_back? acp.Key
---@field queue? acp.Key
---@field older_prompt? acp.Key
---@field newer_prompt? acp.Key
---@field queue_edit? acp.Key
---@field queue_remove? acp.Key
---@field queue_restore? acp.Key
---@field queue_up? acp.Key
---@field queue_down? acp.Key
---@field queue_send? acp.Key
---@field queue_close? acp.Key
---@field toggle? acp.Key
---@field click? acp.Key
---@field details? acp.Key
---@field go_to? acp.Key
---@field next_entry? acp.Key
---@field previous_entry? acp.Key
---@field next_call? acp.Key
---@field previous_call? acp.Key
---@field next_change? acp.Key
---@field previous_change? acp.Key
---@field outline? acp.Key
---@field yank_code? acp.Key
---@field terminal_go? acp.Key
---@field terminal_go_line? acp.Key
---@field terminal_next? acp.Key
---@field terminal_previous? acp.Key
---@field answer? acp.Key
---@field ask? acp.Key
---@field follow? acp.Key
---@field locations? acp.Key
---@field prompt? acp.Key
---@field hide? acp.Key
---@field restart? acp.Key
---@field replay_next? acp.Key
---@field end_left? acp.Key
---@field help? acp.Key
---@field agents_start? acp.Key
---@field agents_details? acp.Key
---@field agents_refresh? acp.Key
---@field agents_site? acp.Key
---@field agents_remove? acp.Key
---@field agents_cancel? acp.Key
---@field agents_close? acp.Key
---@field agents_help? acp.Key
---@field inspect_open? acp.Key
---@field inspect_pair? acp.Key
---@field inspect_filter? acp.Key
---@field inspect_all? acp.Key
---@field inspect_problems? acp.Key
---@field inspect_next_problem? acp.Key
---@field inspect_previous_problem? acp.Key
---@field inspect_close? acp.Key
---@field inspect_help? acp.Key
---@field audit_open? acp.Key
---@field audit_details? acp.Key
---@field audit_filter? acp.Key
---@field audit_all? acp.Key
---@field audit_problems? acp.Key
---@field audit_refresh? acp.Key
---@field audit_close? acp.Key
---@field audit_help? acp.Key
---@field rules_edit? acp.Key
---@field rules_remove? acp.Key
---@field rules_restore? acp.Key
---@field rules_help? acp.Key
---@field next_hunk? acp.Key
---@field previous_hunk? acp.Key
---@field review_keep? acp.Key
---@field review_undo? acp.Key
---@field review_keep_all? acp.Key
---@field review_undo_all? acp.Key
---@field review_take_back? acp.Key
---@field review_comment? acp.Key
---@field review_send? acp.Key
---@field review_go? acp.Key
---@field review_next? acp.Key
---@field review_previous? acp.Key
---@field review_close? acp.Key
---@field review_help? acp.Key
---@field comment_save? acp.Key
---@field comment_save_insert? acp.Key
---@field comment_close? acp.Key

-- Made from src/config up to here.

--- A place that an agent is at.
---@class acp.Location
---@field path string
---@field line? integer
---@field verb string
---@field kind? string the tool call's kind
---@field call? string the tool call's id
---@field session integer
---@field agent string the agent's name in the options

--- As ACP writes it. With `command` it is started, with `url` it is spoken to.
---@class acp.McpServer
---@field name string
---@field type? "stdio"|"http"|"sse"
---@field command? string
---@field args? string[]
---@field env? table<string, string|number>|{ name: string, value: string }[]
---@field url? string
---@field headers? table<string, string|number>|{ name: string, value: string }[]

--- A rule for what agents may do: |acp-rules|. It is about one of `command`, `path`, `host` and `mcp`, or all of a kind.
---@class acp.Rule
---@field decision "allow"|"ask"|"reject"
---@field command? string a shape such as "git {status,diff} **"
---@field path? string a pattern such as "src/**"
---@field host? string
---@field mcp? string "server.tool"
---@field kind? "read"|"edit"|"delete"|"move"|"search"|"execute"|"think"|"fetch"|"switch_mode"|"other"|"write"|"any"
---@field agent? string
---@field mode? string
---@field reason? string shown to you, and written into the record

--- What a confined agent may reach beside its session's folders: |acp-sandbox|.
---@class acp.Sandbox
---@field write? string[] files and folders, absolute or from ~/
---@field read? string[]
---@field network? boolean|integer[] or only these ports, by TCP

---@alias acp.RuleSet "read-only"|"tests"

---@class acp.OpenOptions
---@field agent? string
---@field new? boolean another session, though one is there
---@field range? acp.Range
---@field session? integer show the session of this number

---@class acp.SessionOptions
---@field session? integer the session that is meant; without it the one that commands mean

---@class acp.SendOptions: acp.SessionOptions
---@field range? acp.Range
---@field steer? boolean into the turn that runs

---@class acp.AddOptions: acp.SessionOptions
---@field range? acp.Range

---@class acp.ExportOptions: acp.SessionOptions
---@field range? acp.Range lines of the transcript
---@field force? boolean over a file that is there

--- A session that is remembered.
---@class acp.StoredSession
---@field name string the agent's name in the options
---@field id string the agent's own id of the session
---@field cwd string
---@field title? string
---@field prompts string[]
---@field began integer seconds since 1970
---@field used integer
---@field elsewhere boolean whether another Neovim has it open

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
---@field unwatched? acp.UnwatchedFolder[]

---@class acp.UnwatchedFolder
---@field folder string
---@field why string
---@field noticed "late"|"never" whether changes are noticed when a call or a turn ends

---@class acp.SessionStatus
---@field session integer
---@field name string the agent's name in the options
---@field agent string the agent's name as it is shown
---@field title? string
---@field cwd string
---@field state acp.State
---@field buffer? integer the transcript
---@field prompt? integer the prompt's buffer
---@field auto? "wait"|"reject" it is left alone
---@field mode? string
---@field model? string
---@field queued? integer prompts that wait for the turn to end
---@field held? integer those of them that wait for the user, who stopped the turn
---@field left? string[] commands that go on although their turn was stopped
---@field context? integer percent of the model's context that is used
---@field cost? string
---@field location? acp.LocationStatus

--- Where the agent was last.
---@class acp.LocationStatus: acp.Location
---@field shown boolean the window that follows is there
---@field waiting boolean it will go there when you have been quiet for a while

---@alias acp.State "starting"|"idle"|"working"|"stopping"|"waiting"|"failed"|"ended"

--- A process that this Neovim has started.
---@class acp.AgentStatus
---@field agent string the agent's name in the options
---@field title string what it is called
---@field pid? integer
---@field state "running"|"ended"
---@field auth? "authenticated"|"unauthenticated"|"not_required"|"unknown" as far as the agent has told
---@field accounts? string[] those that it uses
---@field login? string both in words

--- An agent that may be started, as the library describes it to |:checkhealth|.
---@class acp.AgentChoice
---@field name string
---@field title string
---@field detail string
---@field state "ready"|"unapproved"|"missing"|"other_system"
---@field status string the state as the list of agents shows it
---@field found boolean it starts without a question
---@field configured boolean
---@field id? string the registry's
---@field version? string
---@field description? string
---@field license? string
---@field website? string
---@field runs_by string "program", "npx", "uvx" or "download"
---@field sandbox? string what it may reach, if it is confined
---@field sandbox_holds? string what this system holds it to
---@field sandbox_problem? string why it can't be confined here, so that it isn't started
---@field note? string what is doubtful about its `command` in your options
---@field install? string
---@field login? string

--- Answers a request of a method beyond the protocol with what it returns, which JSON must be able to hold;
--- nothing is null. An error is the agent's error. It runs while Neovim waits.
---@alias acp.RequestHandler fun(params: any, session?: integer): any

--- Takes a notification of a method beyond the protocol. `session` is the number of the session that the
--- agent names, if it names one of yours.
---@alias acp.NotificationHandler fun(params: any, session?: integer)

--- A tool of yours that agents may call; see |acp.tool()|.
---@class acp.Tool
---@field name string letters, digits, _ and -
---@field description string what the agent is told of it
---@field schema? table a JSON schema of type "object"; without one it takes no arguments
---@field run? fun(args: table, ctx: acp.ToolContext): any a text or a table; nil where `ctx.done` is called later
---@field timeout? number seconds
---@field reads_only? boolean it changes nothing and runs nothing

--- What a call of a tool is given beside its arguments.
---@class acp.ToolContext
---@field session integer
---@field cwd string the session's folder
---@field cancelled boolean nobody waits for the answer any more
---@field done fun(result?: any, err?: string) ends the call; later ones do nothing
---@field on_end fun(fn: function) calls a function when the call ends, however it does
---@field guard fun(fn: function): function a callback of which an error ends the call
---@field relative fun(path: string): string from the session's folder

--- What a command was given.
---@class acp.Args
---@field args? string[]
---@field text? string the arguments as they were written
---@field bang? boolean
---@field range? acp.Range
---@field session? integer
---@field then? function gets what is not known at once

--- The library. Each function may raise; the error's `tostring()` is the text for the user.
---@class acp.Native
---@field version string as in Cargo.toml
---@field profile string the profile that cargo built it with: "dist", "release" or "debug"
---@field fingerprint string which sources it was built from
---@field interface string what |acp.interface| was then
---@field start fun(place: { root: string, lib: string, demo?: string }) once, before the others
---@field configure fun(options: acp.Options) raises one line for each mistake
---@field check fun(options: acp.Options) the same without taking them
---@field call fun(name: string, args: acp.Args): any
---@field complete fun(kind: string, lead: string, args: string[]): string[]
---@field status fun(session?: integer): acp.Status
---@field handle fun(kind: "request"|"notification", name: string, handler?: function)
---@field tool fun(tool: string, run?: function) a tool of the user's, as JSON; without `run` it is taken away
---@field shutdown fun() ends all agents; takes half a second at most

--- What |vim.uv| gives; its types are in no package that could be fetched.
---@class uv.uv_process_t: userdata
---@class uv.uv_pipe_t: userdata
---@class uv.uv_timer_t: userdata
