//! The scene with a terminal: a short colourful command with a progress line, run by the client, shown
//! while it runs, read when it is done and released.

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, Terminal, TerminalId, TerminalOutputRequest,
    TerminalOutputResponse, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus, ToolCallUpdateFields,
    ToolKind, WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};

use crate::turn::{Played, Turn};

/// For `sh`; `$1` is the pause between two steps of the progress line.
const SCRIPT: &str = r"# greeting_test
printf '\033[1mgreeting_test\033[0m  three checks\n'
for part in 10 20 30 40 50 60 70 80 90 100; do
  printf '\r\033[36mchecking\033[0m %3d%%' $part
  test $1 = 0 || sleep $1
done
printf '\r\033[K\033[32mok\033[0m  greets by name\n'
printf '\033[32mok\033[0m  greets the world\n'
printf '\033[33mskip\033[0m  says goodbye\n'
printf '\033[1;32m2 passed\033[0m, \033[33m1 skipped\033[0m\n'
";

/// For `sh`: `$1` steps, with the pause `$2` between them. It ends as a compiler does that has found something.
const SLOW: &str = r#"# build acp-tour
printf 'building \033[1macp-tour\033[0m\n'
step=0
while [ $step -lt $1 ]; do
  step=$((step + 1))
  printf 'compiling part %d of %d\n' $step $1
  test $2 = 0 || sleep $2
done
printf 'acp-tour.lua:7:3: \033[31merror\033[0m: this line was to be found\n'
exit 1
"#;

/// Runs a command that takes its time, and fails. False where the client runs none.
pub fn fail_slowly(turn: &mut Turn, seconds: u64) -> Played<bool> {
    let (steps, pause) = if turn.pace.is_instant() { (seconds, "0") } else { (seconds * 2, "0.5") };
    let request = if cfg!(windows) {
        let line = format!("ping -n {} 127.0.0.1 & echo acp-tour.lua:7:3: error & exit 1", seconds + 1);
        let args = vec!["/C".to_owned(), line];
        CreateTerminalRequest::new(turn.session.clone(), "cmd").args(args)
    } else {
        let args = ["-c", SLOW, "sh", &steps.to_string(), pause].map(str::to_owned).to_vec();
        CreateTerminalRequest::new(turn.session.clone(), "sh").args(args)
    };
    let request = request.cwd(turn.cwd.clone()).output_byte_limit(32_000);
    play(turn, "Build, slowly", request)
}

/// Runs the command. False where the client runs none.
pub fn run(turn: &mut Turn) -> Played<bool> {
    let request = request(turn);
    play(turn, "Run a command with colours", request)
}

fn play(turn: &mut Turn, title: &str, request: CreateTerminalRequest) -> Played<bool> {
    if !turn.client.terminal {
        turn.say("Your client has no terminals for me (`terminal` is off), so I leave the command out.\n\n")?;
        return Ok(false);
    }
    let call = turn
        .start_call(|id| ToolCall::new(id, title).kind(ToolKind::Execute).status(ToolCallStatus::Pending));
    turn.pause(400)?;
    match attempt(turn, &call, request)? {
        Ok(status) => turn.say(&status)?,
        Err(error) => {
            turn.finish_call(&call, ToolCallStatus::Failed, ToolCallUpdateFields::new());
            turn.say(&format!("The command did not work out: {error}\n\n"))?;
        }
    }
    Ok(true)
}

fn attempt(
    turn: &mut Turn,
    call: &ToolCallId,
    request: CreateTerminalRequest,
) -> Played<Result<String, String>> {
    let terminal = match turn.call::<CreateTerminalResponse>("terminal/create", request)? {
        Ok(created) => created.terminal_id,
        Err(error) => return Ok(Err(error)),
    };
    turn.hold_terminal(&terminal);
    let content = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
    turn.update_call(call, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress).content(content));
    let outcome = watch(turn, &terminal)?;
    if let Err(error) = turn.release_terminal(&terminal)? {
        return Ok(Err(error));
    }
    Ok(outcome.map(|(status, failed)| {
        let end = if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        turn.finish_call(call, end, ToolCallUpdateFields::new());
        status
    }))
}

/// Waits for the end and reads the output: what to say about it, and whether the command failed.
fn watch(turn: &mut Turn, terminal: &TerminalId) -> Played<Result<(String, bool), String>> {
    let wait = WaitForTerminalExitRequest::new(turn.session.clone(), terminal.clone());
    let exit = match turn.call::<WaitForTerminalExitResponse>("terminal/wait_for_exit", wait)? {
        Ok(exit) => exit.exit_status,
        Err(error) => return Ok(Err(error)),
    };
    let output = TerminalOutputRequest::new(turn.session.clone(), terminal.clone());
    let output = match turn.call::<TerminalOutputResponse>("terminal/output", output)? {
        Ok(output) => output.output,
        Err(error) => return Ok(Err(error)),
    };
    let end = match (exit.exit_code, exit.signal) {
        (Some(code), _) => format!("ended with {code}"),
        (None, Some(signal)) => format!("was ended by {signal}"),
        (None, None) => "ended".to_owned(),
    };
    let text = format!("The command {end} and I read {} bytes of its output.\n\n", output.len());
    Ok(Ok((text, exit.exit_code != Some(0))))
}

fn request(turn: &Turn) -> CreateTerminalRequest {
    let request = if cfg!(windows) {
        let args = ["/C", "echo greeting_test: 2 passed, 1 skipped"].map(str::to_owned).to_vec();
        CreateTerminalRequest::new(turn.session.clone(), "cmd").args(args)
    } else {
        let pause = if turn.pace.is_instant() { "0" } else { "0.15" };
        let args = ["-c", SCRIPT, "sh", pause].map(str::to_owned).to_vec();
        CreateTerminalRequest::new(turn.session.clone(), "sh").args(args)
    };
    request.cwd(turn.cwd.clone()).output_byte_limit(32_000)
}
