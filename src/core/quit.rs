//! What `:quit` comes to in a window that has nothing but chats beside it: whether they go along, or the user's file
//! stays on the screen. Which windows and files there are, and what is done, is left to others.

/// What the window shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    Chat,
    File,
    /// Help, a list, a page of ours: who quits it means nothing but it.
    Page,
    /// A start screen, a directory, a shell.
    Other,
}

/// What there is to know when a window is quit.
#[derive(Clone, Copy, Debug)]
pub struct Quit {
    pub shows: Shows,
    pub last_tab: bool,
    /// The user edits a file that no window of the tab page shows.
    pub has_hidden_file: bool,
    /// An agent is at work, and the user has not been told so yet.
    pub busy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The window goes, the chats stay.
    OnlyWindow,
    /// The chats go along: Neovim or the tab page is left.
    ChatsToo,
    /// The chats go, the file that the user edits is shown instead.
    BackToFile,
    /// The user is told that an agent is at work; all windows stay.
    Refuse,
}

impl Quit {
    pub fn step(self) -> Step {
        match self.shows {
            Shows::Page => Step::OnlyWindow,
            Shows::Chat if self.last_tab && self.has_hidden_file => Step::BackToFile,
            Shows::Other if self.last_tab && self.has_hidden_file => Step::OnlyWindow,
            _ if self.last_tab && self.busy => Step::Refuse,
            _ => Step::ChatsToo,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIT: Quit = Quit { shows: Shows::File, last_tab: true, has_hidden_file: false, busy: false };

    #[test]
    fn a_file_is_quit_as_if_there_was_no_chat() {
        assert_eq!(QUIT.step(), Step::ChatsToo);
        // Neovim itself decides about hidden files.
        assert_eq!(Quit { has_hidden_file: true, ..QUIT }.step(), Step::ChatsToo);
    }

    #[test]
    fn no_other_window_leaves_neovim_while_a_file_is_edited() {
        for busy in [false, true] {
            let quit = Quit { has_hidden_file: true, busy, ..QUIT };
            assert_eq!(Quit { shows: Shows::Chat, ..quit }.step(), Step::BackToFile);
            assert_eq!(Quit { shows: Shows::Page, ..quit }.step(), Step::OnlyWindow);
            assert_eq!(Quit { shows: Shows::Other, ..quit }.step(), Step::OnlyWindow);
        }
    }

    #[test]
    fn without_a_file_a_chat_does_not_keep_neovim() {
        for shows in [Shows::Chat, Shows::Other] {
            assert_eq!(Quit { shows, ..QUIT }.step(), Step::ChatsToo);
        }
        assert_eq!(Quit { shows: Shows::Page, ..QUIT }.step(), Step::OnlyWindow);
    }

    #[test]
    fn an_agent_at_work_keeps_neovim_but_no_tab_page() {
        for shows in [Shows::Chat, Shows::File, Shows::Other] {
            let quit = Quit { shows, busy: true, ..QUIT };
            assert_eq!(quit.step(), Step::Refuse);
            assert_eq!(Quit { last_tab: false, ..quit }.step(), Step::ChatsToo);
        }
    }
}
