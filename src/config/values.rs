//! Values of options that are more than a number or a switch.

use std::path::PathBuf;

/// A window's width or height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Cells(u16),
    /// 1 to 100, of the whole editor.
    Percent(u16),
}

/// Whether the messages exchanged with agents are written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Log {
    Off,
    /// In the plugin's log file.
    On,
    File(PathBuf),
}

impl Size {
    /// The size in cells where the editor has `total` of them; at least one, at most all.
    pub fn of(self, total: u16) -> u16 {
        let cells = match self {
            Size::Cells(cells) => cells,
            Size::Percent(percent) => {
                u16::try_from(u32::from(total) * u32::from(percent) / 100).unwrap_or(total)
            }
        };
        cells.clamp(1, total.max(1))
    }
}
