//! `agents.{name}.sandbox`: what a confined agent may reach, as the options give it. What can't be held it to is
//! refused here, with what can.

use std::path::PathBuf;

use serde_json::Value;

use super::read::Field;
use crate::core::message::Network;

/// What a confined agent may reach beside its session's folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxOptions {
    pub write: Vec<PathBuf>,
    pub read: Vec<PathBuf>,
    pub network: Network,
}

const EXPECTED: &str = "\"project\", false or a table { write = { .. }, read = { .. }, network = false }";
const NETWORK: &str = "true, false or a list of ports, such as { 443 }";

impl Field<'_> {
    pub fn sandbox(&self) -> Option<Option<SandboxOptions>> {
        match self.value() {
            Value::Bool(false) => return Some(None),
            Value::Bool(true) => return Some(Some(SandboxOptions::default())),
            Value::String(word) if word == "project" => return Some(Some(SandboxOptions::default())),
            Value::Object(_) | Value::Array(_) => {}
            _ => return self.unexpected(EXPECTED),
        }
        let table = self.table_of(vec!["write", "read", "network"])?;
        let mut options = SandboxOptions::default();
        table.set("write", &mut options.write, Field::absolute_paths);
        table.set("read", &mut options.read, Field::absolute_paths);
        table.set("network", &mut options.network, |field| field.network());
        table.close();
        Some(Some(options))
    }

    fn network(&self) -> Option<Network> {
        match self.value() {
            Value::Bool(true) => return Some(Network::All),
            Value::Bool(false) => return Some(Network::Ports(Vec::new())),
            Value::Array(_) | Value::Object(_) => {}
            _ => return self.unexpected(NETWORK),
        }
        let ports = self.list(NETWORK)?.iter().map(Field::port).collect::<Option<_>>()?;
        Some(Network::Ports(ports))
    }

    fn port(&self) -> Option<u16> {
        if let Some(host) = self.value().as_str() {
            return self.invalid(&format!(
                "the kernel knows ports and no names, so {host:?} can't be told from others: give ports, such as 443, \
                 or true"
            ));
        }
        let port = self.value().as_f64().filter(|port| port.fract() == 0.0 && (1.0..=65535.0).contains(port));
        port.map(|port| port as u16).or_else(|| self.unexpected("a port, from 1 to 65535"))
    }
}
