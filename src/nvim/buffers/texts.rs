//! The texts that buffers were last known to hold: an agent that reads an unchanged buffer again, or a
//! part of it after another, does not cost a reading of all its lines. A text is kept as long as
//! somebody else keeps it, and the last one until another is read or its buffer goes.

use std::collections::HashMap;

use mlua::Result;

use crate::core::text::{Text, WeakText};
use crate::nvim::editor::{Buf, Editor};

/// A buffer as it was at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// `b:changedtick`: when it is another one later, the buffer was changed meanwhile.
    pub tick: u64,
    /// As its file would hold it, with `\n` for every line end that 'fileformat' writes in another way.
    pub text: Text,
}

#[derive(Default)]
pub struct Texts {
    known: HashMap<Buf, Known>,
    /// Whoever reads in parts keeps none of them.
    last: Option<(Buf, Text)>,
}

struct Known {
    tick: u64,
    /// 'endofline', a change of which does not count as one of the buffer.
    ended: bool,
    text: WeakText,
}

impl Texts {
    /// The text of a buffer that has not changed since it was kept.
    pub fn find(&self, editor: &Editor, buf: Buf) -> Result<Option<Snapshot>> {
        let Some(known) = self.known.get(&buf) else { return Ok(None) };
        let Some(text) = known.text.upgrade() else { return Ok(None) };
        let is_same = editor.changedtick(buf)? == known.tick
            && editor.buf_option::<bool>(buf, "endofline")? == known.ended;
        Ok(is_same.then_some(Snapshot { tick: known.tick, text }))
    }

    pub fn keep(&mut self, buf: Buf, ended: bool, snapshot: &Snapshot) {
        self.known.retain(|_, known| known.text.is_held());
        self.last = Some((buf, snapshot.text.clone()));
        self.known.insert(buf, Known { tick: snapshot.tick, ended, text: snapshot.text.downgrade() });
    }

    /// The buffer's text is not asked for any more.
    pub fn forget(&mut self, buf: Buf) {
        self.known.remove(&buf);
        self.last.take_if(|(of, _)| *of == buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_text_goes_with_its_buffer() {
        let mut texts = Texts::default();
        let text: Text = "a text that nobody else keeps".repeat(10).into();
        let weak = text.downgrade();
        texts.keep(Buf(1), true, &Snapshot { tick: 1, text });
        texts.forget(Buf(2));
        assert!(weak.is_held());
        texts.forget(Buf(1));
        assert!(!weak.is_held());
        assert!(texts.known.is_empty());
    }
}
