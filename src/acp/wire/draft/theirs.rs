//! What the agent asks of this client, and our answers. Most of these requests name no session: they are about
//! the one that has a turn.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::errors;
use super::fields::{take, with};
use super::state::{Draft, Theirs};
use crate::acp::wire::from_acp::{FORCE, TIMEOUT};
use crate::acp::wire::rpc::RpcError;

/// How a permission that is asked for can be given: the scope, which is the option's id, its kind in the
/// official protocol, and its name.
const SCOPES: [(&str, &str, &str); 4] = [
    ("once", "allow_once", "Allow"),
    ("session", "allow_always", "Always allow for this session"),
    ("workspace", "allow_always", "Always allow in this workspace"),
    ("always", "allow_always", "Always allow"),
];
pub(super) const REJECT: &str = "reject";

/// What a wait for a command says that is over before the command is.
const NO_CODE: i64 = -1;

impl Draft {
    pub(super) fn theirs(&mut self, method: &str, mut params: Value) -> Result<(Value, Theirs), RpcError> {
        let is_about_work = method.starts_with("fs/") || method.starts_with("terminal/");
        if is_about_work && params["sessionId"].is_null() {
            params = with(params, "sessionId", self.session_at_work()?.into());
        }
        let request = match method {
            "session/request_permission" => {
                params = self.permission(params);
                Theirs::Permission
            }
            "fs/read_text_file" => {
                is_utf8(&mut params)?;
                self.make_absolute(&mut params, "path");
                let (first, last) = (take(&mut params, "startLine"), take(&mut params, "endLine"));
                if let Some(last) = last.as_ref().and_then(Value::as_u64) {
                    let first = first.as_ref().and_then(Value::as_u64).unwrap_or(1);
                    params["limit"] = (last + 1).saturating_sub(first).into();
                }
                let whole = first.is_none() && last.is_none();
                if let Some(first) = first {
                    params["line"] = first;
                }
                Theirs::Read { whole }
            }
            "fs/write_text_file" => self.write(&mut params)?,
            "terminal/create" => {
                self.make_absolute(&mut params, "cwd");
                Theirs::Create { timeout: limit(&mut params) }
            }
            "terminal/wait_for_exit" => {
                let terminal = params["terminalId"].as_str().unwrap_or_default().to_owned();
                Theirs::Wait { terminal, limited: limit(&mut params).is_some() }
            }
            "terminal/kill" => {
                let force = take(&mut params, "force").is_some_and(|force| force == true);
                let signal = take(&mut params, "signal");
                let at_once = match signal.as_ref().map(|signal| signal.as_str().unwrap_or_default()) {
                    None | Some("SIGTERM") => force,
                    Some("SIGKILL") => true,
                    Some(_) => return Err(RpcError::invalid("signal", "must be SIGTERM or SIGKILL")),
                };
                params["_meta"][FORCE] = at_once.into();
                Theirs::Kill
            }
            "terminal/release" => {
                Theirs::Release { terminal: params["terminalId"].as_str().unwrap_or_default().to_owned() }
            }
            _ => Theirs::Other,
        };
        Ok((params, request))
    }

    fn permission(&mut self, mut params: Value) -> Value {
        let part = |params: &mut Value, key: &str| match take(params, key) {
            Some(Value::String(text)) => text,
            other => other.unwrap_or_default().to_string(),
        };
        let (operation, resource) = (part(&mut params, "operation"), part(&mut params, "resource"));
        let kind = match operation.as_str() {
            "file_read" => "read",
            "file_write" => "edit",
            "file_delete" => "delete",
            "terminal_execute" => "execute",
            "network_access" => "fetch",
            _ => "other",
        };
        let title = format!("{}: {resource}", operation.replace('_', " "));
        let id = take(&mut params, "toolCallId").and_then(|id| id.as_str().map(str::to_owned));
        let is_known = id.as_ref().is_some_and(|id| self.calls.contains(id));
        let id = id.unwrap_or_else(|| {
            self.questions += 1;
            format!("permission-{}", self.questions)
        });
        let mut call = json!({ "toolCallId": id, "status": "pending" });
        if !is_known {
            (call["kind"], call["title"]) = (kind.into(), title.into());
            if operation.starts_with("file_") {
                let session = params["sessionId"].as_str().unwrap_or_default();
                call["locations"] = json!([{ "path": self.resolve(session, &resource) }]);
            }
            if operation == "terminal_execute" {
                call["rawInput"] = json!({ "command": resource });
            }
        }
        if let Some(reason) = take(&mut params, "reason") {
            let text = json!({ "type": "text", "text": reason });
            call["content"] = json!([{ "type": "content", "content": text }]);
        }
        let option =
            |(id, kind, name): (&str, &str, &str)| json!({ "optionId": id, "kind": kind, "name": name });
        let mut options: Vec<Value> = SCOPES.into_iter().map(option).collect();
        options.push(option((REJECT, "reject_once", "Reject")));
        with(with(params, "toolCall", call), "options", options.into())
    }

    fn write(&self, params: &mut Value) -> Result<Theirs, RpcError> {
        is_utf8(params)?;
        self.make_absolute(params, "path");
        let path = PathBuf::from(params["path"].as_str().unwrap_or_default());
        let is_there = (self.exists)(&path);
        if is_there && take(params, "overwrite").is_some_and(|overwrite| overwrite == false) {
            let message =
                format!("couldn't write {}: it is there already, and overwrite is false", path.display());
            return Err(errors::denied(&message));
        }
        let folder = path.parent().unwrap_or(Path::new("/"));
        if take(params, "createDirectories").is_some_and(|create| create == false) && !(self.exists)(folder) {
            let message = format!(
                "couldn't write {}: its folder is not there, and createDirectories is false",
                path.display()
            );
            return Err(errors::denied(&message));
        }
        Ok(Theirs::Write { bytes: params["content"].as_str().map_or(0, str::len), created: !is_there })
    }

    pub(super) fn answer(&mut self, request: Theirs, mut result: Value) -> Value {
        match request {
            Theirs::Permission => {
                let chosen = result["outcome"]["optionId"].as_str().unwrap_or(REJECT);
                let granted = SCOPES.into_iter().map(|(scope, ..)| scope).find(|scope| *scope == chosen);
                let scope = granted.unwrap_or("once");
                json!({ "granted": granted.is_some(), "remember": scope != "once", "scope": scope })
            }
            Theirs::Read { whole } => {
                result["encoding"] = "utf-8".into();
                if whole {
                    result["totalLines"] =
                        result["content"].as_str().map_or(0, |text| text.lines().count()).into();
                }
                result
            }
            Theirs::Write { bytes, created } => json!({ "bytesWritten": bytes, "created": created }),
            Theirs::Create { timeout } => {
                if let Some(terminal) = result["terminalId"].as_str() {
                    self.terminals.insert(terminal.to_owned());
                    self.overdue
                        .extend(timeout.map(|timeout| (terminal.to_owned(), Instant::now() + timeout)));
                }
                result
            }
            Theirs::Wait { terminal, limited } => {
                let (code, signal) = (take(&mut result, "exitCode"), take(&mut result, "signal"));
                let runs_on = code.is_none() && signal.is_none() && limited;
                let overdue = self.overdue.get(&terminal).is_some_and(|at| *at <= Instant::now());
                let mut answer = json!({ "exitCode": code.unwrap_or_else(|| NO_CODE.into()) });
                if runs_on || (overdue && signal.is_some()) {
                    answer["timedOut"] = true.into();
                }
                if let Some(signal) = signal {
                    answer["signal"] = signal;
                }
                answer
            }
            Theirs::Kill => json!({ "killed": true }),
            Theirs::Release { terminal } => {
                self.overdue.remove(&terminal);
                json!({ "released": true })
            }
            Theirs::Other => result,
        }
    }

    /// The session that a request without one is about: the one that has a turn, or the only one there is.
    fn session_at_work(&self) -> Result<String, RpcError> {
        let mut at_work = self.sessions.iter().filter(|(_, session)| session.in_turn).map(|(name, _)| name);
        let first = match at_work.next() {
            Some(first) if at_work.next().is_none() => Some(first),
            Some(_) => return Err(errors::state("several sessions have a turn; say which by `sessionId`")),
            None if self.sessions.len() == 1 => self.sessions.keys().next(),
            None => None,
        };
        first.cloned().ok_or_else(|| errors::state("no session has a turn; say which by `sessionId`"))
    }

    /// The dialect allows paths below the session's folder; the official protocol only absolute ones.
    fn make_absolute(&self, params: &mut Value, key: &str) {
        let session = params["sessionId"].as_str().unwrap_or_default();
        if let Some(path) = params[key].as_str() {
            params[key] = self.resolve(session, path);
        }
    }

    fn resolve(&self, session: &str, path: &str) -> Value {
        let cwd = self.sessions.get(session).map(|session| session.cwd.as_path());
        cwd.unwrap_or(Path::new("")).join(path).to_string_lossy().into_owned().into()
    }
}

/// How long a command may run, or is waited for. The official protocol has no such thing.
fn limit(params: &mut Value) -> Option<Duration> {
    let timeout = take(params, "timeout")?;
    let limit = timeout.as_u64().map(Duration::from_millis);
    params["_meta"][TIMEOUT] = timeout;
    limit
}

/// Files are texts here, as Neovim has them.
fn is_utf8(params: &mut Value) -> Result<(), RpcError> {
    let encoding =
        take(params, "encoding").map(|encoding| encoding.as_str().unwrap_or_default().to_lowercase());
    match encoding.as_deref() {
        None | Some("utf-8" | "utf8") => Ok(()),
        Some(_) => Err(RpcError::invalid("encoding", "must be utf-8, which is all that this client serves")),
    }
}
