//! What agents tell without being asked, by the method. Extensions, whose names begin with an underscore, are not here.

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, PROTOCOL_LEVEL_METHOD_NAMES};

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    Update,
    /// A request of the agent's is not wanted any more.
    Cancelled,
    /// What was asked for on a page of the web is done.
    PageDone,
    AuthStatus,
}

const ALL: [(&str, Notification); 4] = [
    (CLIENT_METHOD_NAMES.session_update, Notification::Update),
    (PROTOCOL_LEVEL_METHOD_NAMES.cancel_request, Notification::Cancelled),
    (CLIENT_METHOD_NAMES.elicitation_complete, Notification::PageDone),
    (CLIENT_METHOD_NAMES.auth_status_update, Notification::AuthStatus),
];

/// Nothing for a method that the protocol doesn't have.
pub fn notification(method: &str) -> Option<Notification> {
    ALL.iter().find(|(name, _)| *name == method).map(|(_, notification)| *notification)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::core::inspector::table;

    #[test]
    fn the_inspector_knows_those_that_are_served_and_no_others() {
        let served: BTreeSet<&str> = ALL.iter().map(|(name, _)| *name).collect();
        assert_eq!(served, table::NOTIFICATIONS.iter().copied().collect());
    }
}
