//! How windows beside each other share what is left to them when others come, and what they get back when those go: each
//! as much as it had of them all, in place of one neighbour that gives or gets everything. All in cells.

use std::collections::HashMap;

/// Windows as they divide a tab page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Window {
        win: i64,
        size: Size,
        /// The user wants it to keep its width, or its height.
        keeps: (bool, bool),
    },
    /// From left to right.
    Row(Vec<Node>),
    /// From top to bottom.
    Column(Vec<Node>),
}

/// Width and height.
pub type Size = (u16, u16);

/// In which of its dimensions a window is to have so many cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Width(i64, u16),
    Height(i64, u16),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Width,
    Height,
}

impl Side {
    fn get(self, (width, height): Size) -> u16 {
        match self {
            Self::Width => width,
            Self::Height => height,
        }
    }
}

impl Node {
    /// The sizes of all its windows.
    pub fn sizes(&self) -> HashMap<i64, Size> {
        match self {
            Self::Window { win, size, .. } => HashMap::from([(*win, *size)]),
            Self::Row(nodes) | Self::Column(nodes) => nodes.iter().flat_map(Self::sizes).collect(),
        }
    }

    /// What is to be resized, in this order, for those that were there `before` to share what they have as they did.
    pub fn shared_as(&self, before: &HashMap<i64, Size>) -> Vec<Change> {
        let mut changes = Vec::new();
        let own = |side| self.cells(side, &|_, size| Some(size)).unwrap_or(0);
        self.share((own(Side::Width), own(Side::Height)), before, &mut changes);
        changes
    }

    /// How many cells it has or had, as `size` says of each of its windows; nothing if it says so of none.
    fn cells(&self, side: Side, size: &impl Fn(i64, Size) -> Option<Size>) -> Option<u16> {
        match self {
            Self::Window { win, size: now, .. } => size(*win, *now).map(|size| side.get(size)),
            Self::Row(nodes) if side == Side::Width => added(nodes, side, size),
            Self::Column(nodes) if side == Side::Height => added(nodes, side, size),
            Self::Row(nodes) | Self::Column(nodes) => nodes.iter().find_map(|node| node.cells(side, size)),
        }
    }

    fn window(&self) -> Option<i64> {
        match self {
            Self::Window { win, .. } => Some(*win),
            Self::Row(nodes) | Self::Column(nodes) => nodes.iter().find_map(Self::window),
        }
    }

    fn keeps(&self, side: Side) -> bool {
        match self {
            Self::Window { keeps, .. } => match side {
                Side::Width => keeps.0,
                Side::Height => keeps.1,
            },
            Self::Row(nodes) | Self::Column(nodes) => nodes.iter().any(|node| node.keeps(side)),
        }
    }

    fn share(&self, size: Size, before: &HashMap<i64, Size>, changes: &mut Vec<Change>) {
        let (nodes, side) = match self {
            Self::Window { .. } => return,
            Self::Row(nodes) => (nodes, Side::Width),
            Self::Column(nodes) => (nodes, Side::Height),
        };
        let now = |node: &Self| node.cells(side, &|_, size| Some(size)).unwrap_or(0);
        let had = |node: &Self| node.cells(side, &|win, _| before.get(&win).copied());
        let borders = u16::try_from(nodes.len() - 1).unwrap_or(u16::MAX);
        let all = side.get(size).saturating_sub(borders);
        // What is new has what it has, and what is to keep its size has that, if there is room.
        let shares_room: Vec<bool> =
            nodes.iter().map(|node| had(node).is_some() && !node.keeps(side)).collect();
        let of_kept = |size: &dyn Fn(&Self) -> u16| -> u16 {
            let kept = nodes.iter().zip(&shares_room).filter(|(_, shares)| !**shares);
            kept.map(|(node, _)| size(node)).fold(0, u16::saturating_add)
        };
        let wanted = |node: &Self| had(node).unwrap_or_else(|| now(node));
        let sharing: Vec<u16> = nodes
            .iter()
            .zip(&shares_room)
            .filter(|(_, shares)| **shares)
            .filter_map(|(node, _)| had(node))
            .collect();
        let least = u16::try_from(sharing.len()).unwrap_or(u16::MAX);
        let has_room = of_kept(&wanted).saturating_add(least) <= all;
        let kept: &dyn Fn(&Self) -> u16 = if has_room { &wanted } else { &now };
        let mut shares = shares(&sharing, all.saturating_sub(of_kept(kept))).into_iter();
        let cells: Vec<u16> = nodes
            .iter()
            .zip(&shares_room)
            .map(|(node, takes)| if *takes { shares.next().unwrap_or(1) } else { kept(node) })
            .collect();
        if nodes.iter().zip(&cells).any(|(node, cells)| now(node) != *cells) {
            changes.extend(nodes.iter().zip(&cells).filter_map(|(node, cells)| {
                let win = node.window()?;
                Some(match side {
                    Side::Width => Change::Width(win, *cells),
                    Side::Height => Change::Height(win, *cells),
                })
            }));
        }
        for (node, cells) in nodes.iter().zip(cells) {
            let size = match side {
                Side::Width => (cells, size.1),
                Side::Height => (size.0, cells),
            };
            node.share(size, before, changes);
        }
    }
}

/// Of those that stand in a line, with a border between each two.
fn added(nodes: &[Node], side: Side, size: &impl Fn(i64, Size) -> Option<Size>) -> Option<u16> {
    let cells: Vec<u16> = nodes.iter().filter_map(|node| node.cells(side, size)).collect();
    let borders = u16::try_from(cells.len().checked_sub(1)?).unwrap_or(u16::MAX);
    Some(cells.iter().fold(borders, |all, cells| all.saturating_add(*cells)))
}

/// Divides room by weights; each gets a cell at least, as far as there are so many.
fn shares(weights: &[u16], room: u16) -> Vec<u16> {
    let mut left = (u32::from(room), weights.iter().map(|weight| u32::from(*weight).max(1)).sum::<u32>());
    let mut after = u32::try_from(weights.len()).unwrap_or(u32::MAX);
    let share = |weight: &u16| {
        let weight = u32::from(*weight).max(1);
        after -= 1;
        let (room, all) = left;
        let most = room.saturating_sub(after).max(1);
        let share = ((room * weight * 2 + all) / (all * 2)).clamp(1, most).min(room);
        left = (room - share, all - weight);
        u16::try_from(share).unwrap_or(u16::MAX)
    };
    weights.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(win: i64, width: u16, height: u16) -> Node {
        Node::Window { win, size: (width, height), keeps: (false, false) }
    }

    fn fixed(win: i64, width: u16, height: u16) -> Node {
        Node::Window { win, size: (width, height), keeps: (true, true) }
    }

    #[test]
    fn all_of_a_row_give_to_what_comes() {
        let before = Node::Row(vec![window(1, 46, 37), window(2, 46, 37), window(3, 46, 37)]).sizes();
        let chat = Node::Column(vec![window(9, 70, 30), window(10, 70, 6)]);
        let now = Node::Row(vec![window(1, 34, 37), window(2, 32, 37), window(3, 1, 37), chat]);
        let widths = [(1, 22), (2, 23), (3, 22), (9, 70)];
        assert_eq!(now.shared_as(&before), widths.map(|(win, cells)| Change::Width(win, cells)));
    }

    #[test]
    fn what_has_a_fixed_size_and_what_has_not_changed_is_left_alone() {
        let before = Node::Row(vec![fixed(1, 30, 37), window(2, 54, 37), window(3, 54, 37)]).sizes();
        let now = Node::Row(vec![fixed(1, 10, 37), window(2, 56, 37), window(3, 1, 37), window(9, 70, 37)]);
        let widths = [(1, 30), (2, 19), (3, 18), (9, 70)];
        assert_eq!(now.shared_as(&before), widths.map(|(win, cells)| Change::Width(win, cells)));
        let same = Node::Row(vec![window(1, 100, 37), window(2, 39, 37)]);
        assert_eq!(same.shared_as(&same.sizes()), []);
    }

    #[test]
    fn rows_within_columns_are_shared_as_well() {
        let inner = |first, second| Node::Row(vec![window(1, first, 20), window(2, second, 20)]);
        let before = Node::Column(vec![inner(99, 40), window(3, 140, 16)]).sizes();
        let now = Node::Row(vec![Node::Column(vec![inner(67, 1), window(3, 69, 16)]), window(9, 70, 37)]);
        assert_eq!(now.shared_as(&before), [Change::Width(1, 48), Change::Width(2, 20)]);
    }

    #[test]
    fn lines_are_shared_like_columns() {
        let before = Node::Column(vec![window(1, 140, 18), window(2, 140, 18)]).sizes();
        let now = Node::Column(vec![window(1, 140, 14), window(2, 140, 3), window(9, 140, 18)]);
        let heights = [(1, 9), (2, 8), (9, 18)];
        assert_eq!(now.shared_as(&before), heights.map(|(win, cells)| Change::Height(win, cells)));
    }

    proptest! {
        #[test]
        fn shares_use_all_the_room_and_keep_their_order(
            weights in prop::collection::vec(1u16..300, 1..8), room in 0u16..400,
        ) {
            let shares = shares(&weights, room);
            prop_assert_eq!(shares.iter().map(|share| u32::from(*share)).sum::<u32>(), u32::from(room));
            if usize::from(room) >= weights.len() {
                prop_assert!(shares.iter().all(|share| *share > 0));
            }
            let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            for (weight, share) in weights.iter().zip(&shares) {
                let exact = f64::from(*weight) * f64::from(room) / total;
                // As near as whole cells, and one for each, allow.
                prop_assert!((f64::from(*share) - exact).abs() <= weights.len() as f64, "{exact} {share}");
            }
        }
    }
}
