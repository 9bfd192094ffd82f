//! The background: agents, processes, terminals and the disk, spoken to in ACP.
