//! What a chat costs that is long already: how much more a frame of an answer, a scroll by half a window and
//! the opening of its windows take in one of many lines than in one of few.

use super::scenarios::Values;
use super::scripts::earlier_and_more;
use super::stage::{Clock, Subject};
use crate::support::project::TempProject;

/// A user's message and its answer are so many lines of a chat.
const LINES: usize = 9;

/// Milliseconds of the main thread in a chat of some length.
struct Costs {
    frame: f64,
    scroll: f64,
    open: f64,
}

/// `sizes` are lines, ascending.
pub fn lines(subject: Subject, sizes: [usize; 3], chunks: usize) -> Values {
    let [few, more, most] = sizes.map(|lines| costs(subject, lines, chunks));
    let growth = |of: fn(&Costs) -> f64| of(&more).max(of(&most)) / of(&few);
    vec![
        ("frame growth", growth(|costs| costs.frame)),
        ("scroll growth", growth(|costs| costs.scroll)),
        ("open growth", growth(|costs| costs.open)),
        ("frame ms few", few.frame),
        ("frame ms more", more.frame),
        ("frame ms most", most.frame),
        ("scroll ms few", few.scroll),
        ("scroll ms more", more.scroll),
        ("scroll ms most", most.scroll),
        ("open ms few", few.open),
        ("open ms more", more.open),
        ("open ms most", most.open),
    ]
}

fn costs(subject: Subject, lines: usize, chunks: usize) -> Costs {
    let project = TempProject::new(&[]);
    let mut stage = earlier_and_more(subject, &project, lines / LINES * 2, chunks);
    stage.load_and_rest(Clock::Silent);
    let frame = stage.prompt_and_rest(Clock::Silent).main_s * 1e3 / chunks as f64;
    Costs { frame, scroll: stage.scroll_cost(), open: stage.open_cost() }
}
