//! What messages and tool calls contain: text, images, files and links to them. How they are displayed is
//! left to `transcript`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::text::Text;

/// How a link to a subagent's session begins, behind which is its id.
pub const SESSION_URI: &str = "acp-session:";

/// A content block, ours or the agent's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    Text(Text),
    Image {
        data: String,
        mime: String,
        uri: Option<String>,
    },
    Audio {
        data: String,
        mime: String,
    },
    Link {
        uri: String,
        name: String,
        title: Option<String>,
        mime: Option<String>,
        size: Option<u64>,
    },
    Resource {
        uri: String,
        mime: Option<String>,
        body: ResourceBody,
    },
    /// An image of the agent's, as the background has kept it.
    Picture(Box<Picture>),
    /// A type this client does not know, or a block too broken to read.
    Unknown {
        kind: String,
    },
}

/// What there is to know of an image without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// As people say it: `PNG`.
    pub format: String,
    /// Width and height in pixels.
    pub size: Option<(u32, u32)>,
    /// How much it takes.
    pub bytes: Option<u64>,
    pub place: PicturePlace,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PicturePlace {
    /// A file of this Neovim's, which is gone when the session is.
    File(PathBuf),
    /// A URI of the agent's.
    Link(String),
    /// It cannot be shown; why.
    Nowhere(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceBody {
    Text(String),
    /// Base64, as it came.
    Blob(String),
}
