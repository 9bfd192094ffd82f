//! A command's output for a reader that wants it as it comes: lines that no longer change, at a pace that a slow
//! reader can bear.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::terminal::Terminal;

/// The shortest time between two pieces.
const PACE: Duration = Duration::from_millis(50);
/// The longest piece, in bytes. Of more that comes in one pace, the end is given.
const PIECE: usize = 32 << 10;

/// One reader's place in a command's output.
pub struct FollowedOutput {
    terminal: Arc<Terminal>,
    /// The bytes of text that were given, or left out.
    at: usize,
    next: Instant,
}

impl FollowedOutput {
    pub(super) fn of(terminal: Arc<Terminal>) -> Self {
        Self { terminal, at: 0, next: Instant::now() }
    }

    /// The next piece, once there is one; nothing when the command is over and all was given.
    pub async fn next(&mut self) -> Option<String> {
        let mut exit = self.terminal.exit.subscribe();
        loop {
            sleep_until(self.next).await;
            let is_over = exit.borrow_and_update().is_some();
            let (piece, left_out, end) = self.terminal.lock().record.piece_after(self.at, PIECE, is_over);
            self.at = end;
            if !piece.is_empty() {
                self.next = Instant::now() + PACE;
                let mark = (left_out > 0).then(|| format!("[{left_out} bytes left out]\n"));
                return Some(mark.unwrap_or_default() + &piece);
            }
            if is_over {
                return None;
            }
            tokio::select! {
                () = self.terminal.grown.notified() => {}
                // The sender goes only after it has told the exit.
                _ = exit.changed() => {}
            }
        }
    }
}
