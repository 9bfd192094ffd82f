//! The images that agents send, as files: each is looked at when it comes, written into a folder of this
//! Neovim's, and from then on known by its path. The files of a session are bounded, and go with it; what
//! a Neovim that was killed has left, the next one takes away.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::core::ids::SessionKey;
use crate::core::message::image::{self, MAX_IMAGE_BYTES};
use crate::core::message::{Content, Picture, PicturePlace, ResourceBody, ToolContent, Update};
use crate::platform::files::create_private_folder;
use crate::platform::group::process_lives;

/// The most bytes that a session's images take together; of more, the oldest go.
const MOST_OF_SESSION: u64 = 128 << 20;

/// All that is kept.
#[derive(Default)]
pub struct Images(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// This Neovim's own.
    folder: Option<PathBuf>,
    sessions: HashMap<SessionKey, VecDeque<File>>,
}

struct File {
    path: PathBuf,
    bytes: u64,
}

impl Images {
    /// From now on images are kept below this folder, which Neovims share.
    pub fn set(&self, folder: &Path) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let own = format!("{}-{:x}", std::process::id(), since.as_nanos());
        self.lock().folder = Some(folder.join(own));
    }

    /// Takes away what Neovims that are gone have left in the folder.
    pub fn sweep(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.split_once('-')?.0.parse::<u32>().ok());
            if pid.is_some_and(|pid| !process_lives(pid)) {
                // One that cannot go now goes another time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Puts files in the place of the images that an update holds.
    pub fn take(&self, session: SessionKey, update: &mut Update) {
        match update {
            Update::Message { content, .. } => self.take_one(session, content),
            Update::ToolCall(call) => self.take_all(session, call.content.iter_mut().flatten()),
            _ => {}
        }
    }

    pub fn take_all<'c>(&self, session: SessionKey, content: impl Iterator<Item = &'c mut ToolContent>) {
        for item in content {
            if let ToolContent::Content(content) = item {
                self.take_one(session, content);
            }
        }
    }

    fn take_one(&self, session: SessionKey, content: &mut Content) {
        let picture = match content {
            Content::Image { data, mime, uri } if data.is_empty() => {
                linked(uri.as_deref().unwrap_or_default(), mime, None)
            }
            Content::Image { data, mime, .. } => self.keep(session, data, mime),
            Content::Resource { mime: Some(mime), body: ResourceBody::Blob(data), .. } if is_image(mime) => {
                self.keep(session, data, mime)
            }
            Content::Link { uri, mime: Some(mime), size, .. } if is_image(mime) => linked(uri, mime, *size),
            _ => return,
        };
        *content = Content::Picture(Box::new(picture));
    }

    fn keep(&self, session: SessionKey, data: &str, mime: &str) -> Picture {
        let about = data.len() / 4 * 3;
        let nowhere = |bytes: usize, why: String| Picture {
            format: format_of(mime),
            size: None,
            bytes: Some(bytes as u64),
            place: PicturePlace::Nowhere(why),
        };
        if mime.contains("svg") {
            return nowhere(about, "an SVG may hold programs".to_owned());
        }
        if about > MAX_IMAGE_BYTES {
            return nowhere(about, format!("it has more than {} MB", MAX_IMAGE_BYTES >> 20));
        }
        let Some(bytes) = image::decode(data) else {
            return nowhere(about, "it is not valid Base64".to_owned());
        };
        let Some((format, size)) = image::look(&bytes) else {
            return nowhere(bytes.len(), "it is no PNG, JPEG, GIF, WebP or BMP".to_owned());
        };
        let place = match self.write(session, &bytes, format.extension()) {
            Ok(path) => PicturePlace::File(path),
            Err(error) => PicturePlace::Nowhere(format!("it couldn't be written to the disk: {error}")),
        };
        Picture { format: format.name().to_owned(), size, bytes: Some(bytes.len() as u64), place }
    }

    /// One that was sent before has its file already: agents send a call's content again with each update.
    fn write(&self, session: SessionKey, bytes: &[u8], extension: &str) -> std::io::Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let mut kept = self.lock();
        let folder = kept.folder.clone().ok_or_else(|| std::io::Error::other("there is no folder for it"))?;
        let folder = folder.join(session.0.to_string());
        let path = folder.join(format!("{:016x}.{extension}", hasher.finish()));
        let files = kept.sessions.entry(session).or_default();
        if files.iter().any(|file| file.path == path) {
            return Ok(path);
        }
        // What an agent sees may be for nobody else's eyes.
        create_private_folder(&folder)?;
        fs::write(&path, bytes)?;
        files.push_back(File { path: path.clone(), bytes: bytes.len() as u64 });
        while files.iter().map(|file| file.bytes).sum::<u64>() > MOST_OF_SESSION {
            let Some(oldest) = files.pop_front() else { break };
            // The user may have removed it.
            let _ = fs::remove_file(oldest.path);
        }
        Ok(path)
    }

    /// The session is over, and its images with it.
    pub fn ended(&self, session: SessionKey) {
        let mut kept = self.lock();
        let folder = kept.folder.as_ref().map(|folder| folder.join(session.0.to_string()));
        if let (Some(_), Some(folder)) = (kept.sessions.remove(&session), folder) {
            // What cannot go now is swept up later.
            let _ = fs::remove_dir_all(folder);
        }
    }

    /// Neovim leaves.
    pub fn end(&self) {
        let mut kept = self.lock();
        kept.sessions.clear();
        if let Some(folder) = kept.folder.take() {
            // As above; most often there is none.
            let _ = fs::remove_dir_all(folder);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // No step under this lock can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_image(mime: &str) -> bool {
    mime.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("image/"))
}

/// `image/svg+xml` as one says it.
fn format_of(mime: &str) -> String {
    let name = mime.split_once('/').map_or(mime, |(_, name)| name);
    name.split(['+', ';']).next().unwrap_or(name).to_uppercase()
}

/// An image that is elsewhere.
fn linked(uri: &str, mime: &str, bytes: Option<u64>) -> Picture {
    let place = if uri.is_empty() {
        PicturePlace::Nowhere("the agent sent nothing of it".to_owned())
    } else {
        PicturePlace::Link(uri.to_owned())
    };
    Picture { format: format_of(mime), size: None, bytes, place }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAYAAAA=";

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("acp-images-{}-{name}", std::process::id()))
    }

    fn path(images: &Images, session: u32, data: &str) -> PathBuf {
        let data = data.to_owned();
        let mut content = Content::Image { data, mime: "image/png".into(), uri: None };
        images.take_one(SessionKey(session), &mut content);
        match content {
            Content::Picture(picture) => match picture.place {
                PicturePlace::File(path) => path,
                other => panic!("no file: {other:?}"),
            },
            other => panic!("no picture: {other:?}"),
        }
    }

    #[test]
    fn each_image_is_written_once_and_goes_with_its_session() {
        let (images, folder) = (Images::default(), folder("once"));
        images.set(&folder);
        let first = path(&images, 1, PNG);
        assert_eq!(path(&images, 1, PNG), first);
        let other = path(&images, 2, PNG);
        assert!(other != first && other.is_file());
        images.ended(SessionKey(1));
        assert!(!first.exists() && other.exists());
        images.end();
        assert!(!other.exists());
        assert_eq!(fs::read_dir(&folder).map(Iterator::count).ok(), Some(0));
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn what_a_neovim_that_is_gone_has_left_is_swept_up() {
        let folder = folder("swept");
        let (gone, here) = (folder.join("2147483646-1"), folder.join(format!("{}-1", std::process::id())));
        for path in [&gone, &here, &folder.join("notes")] {
            fs::create_dir_all(path).expect("a folder");
        }
        Images::sweep(&folder);
        assert!(!gone.exists() && here.exists() && folder.join("notes").exists());
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn a_huge_one_is_not_looked_into() {
        let images = Images::default();
        let picture = images.keep(SessionKey(1), &"!".repeat(MAX_IMAGE_BYTES / 3 * 4 + 8), "image/png");
        assert_eq!(picture.place, PicturePlace::Nowhere("it has more than 32 MB".into()));
        let picture = images.keep(SessionKey(1), PNG, "image/png");
        assert!(matches!(picture.place, PicturePlace::Nowhere(why) if why.contains("there is no folder")));
    }
}
