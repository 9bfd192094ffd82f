//! A task of this program as a process of its own, with something between it and the client that speaks otherwise, line
//! by line in both directions. What it makes of the lines is left to the translators.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

/// What becomes of a message.
#[derive(Debug, Default)]
pub struct Said {
    pub to_agent: Option<Value>,
    pub to_client: Vec<Value>,
}

impl Said {
    pub fn to_agent(message: Value) -> Self {
        Self { to_agent: Some(message), to_client: Vec::new() }
    }

    pub fn to_client(message: Value) -> Self {
        Self { to_agent: None, to_client: vec![message] }
    }
}

pub trait Translator: Send + 'static {
    fn client_says(&mut self, message: Value) -> Said;

    /// What it does later is written to the output.
    fn agent_says(&mut self, message: Value, output: &Output) -> Said;
}

/// Where both sides are written to. The task's side is gone once the client's is.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Option<ChildStdin>>>);

impl Output {
    /// The task ends when it hears nothing more.
    fn end(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Whether everything could be written.
    pub fn write(&self, said: &Said) -> bool {
        if let Some(message) = &said.to_agent {
            let mut stdin = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !stdin.as_mut().is_some_and(|stdin| writeln!(stdin, "{message}").is_ok()) {
                return false;
            }
        }
        let mut stdout = io::stdout().lock();
        let written = said.to_client.iter().try_for_each(|message| match message {
            // What is no message stays what it is.
            Value::String(line) => writeln!(stdout, "{line}"),
            message => writeln!(stdout, "{message}"),
        });
        written.and_then(|()| stdout.flush()).is_ok()
    }
}

/// Serves until the client closes stdin or the task ends.
pub fn serve(args: impl Iterator<Item = OsString>, translator: impl Translator) -> ExitCode {
    let task = std::env::current_exe().and_then(|program| {
        Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    });
    match task {
        Ok(task) => between(task, translator),
        Err(error) => {
            crate::print_error(&format!("couldn't start the agent behind this: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn between(mut task: Child, translator: impl Translator) -> ExitCode {
    let (Some(stdin), Some(stdout)) = (task.stdin.take(), task.stdout.take()) else {
        return ExitCode::FAILURE;
    };
    let translator = Arc::new(Mutex::new(translator));
    let output = Output(Arc::new(Mutex::new(Some(stdin))));
    let of_client = (translator.clone(), output.clone());
    thread::spawn(move || {
        let (translator, output) = of_client;
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(message) = serde_json::from_str(&line) else { continue };
            // Written while it is held, so that nothing overtakes it.
            let mut translator = translator.lock().unwrap_or_else(PoisonError::into_inner);
            if !output.write(&translator.client_says(message)) {
                break;
            }
        }
        output.end();
    });
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let mut translator = translator.lock().unwrap_or_else(PoisonError::into_inner);
        let said = match serde_json::from_str(&line) {
            Ok(message) => translator.agent_says(message, &output),
            Err(_) => Said::to_client(Value::String(line)),
        };
        if !output.write(&said) {
            break;
        }
    }
    let code = task.wait().ok().and_then(|status| status.code());
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
