//! What comes of the lines that an agent writes. How they are read is left to `message_reader`, what is done with it
//! to `connection`.

use super::from_acp::{Chunk, Told};
use super::rpc::{Message, Noise, RequestId, RpcError};

/// What the agent wrote.
#[derive(Debug)]
pub enum Incoming {
    /// A message that is a piece of text, and is nothing else.
    Chunk(Chunk),
    /// A message that is an update, and was read without one in between.
    Told(Told),
    Message(Message),
    /// A request that is answered by this already.
    Refused(RequestId, RpcError),
    /// A line that is no message, or its beginning.
    Noise(Noise, String),
    /// A message longer than allowed; nothing can be read after it.
    TooLong,
    /// Messages are framed as a language server does.
    LengthHeader,
}
