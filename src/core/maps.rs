//! Maps and sets for what is looked up with every message: paths, calls. `std`'s hashing costs more than all else
//! that is done with a key there. The seeds are chosen anew in each process, and nothing that an agent is told depends
//! on an order in a map, so keys that collide can't be chosen.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub type FastMap<K, V> = HashMap<K, V, RandomState>;
pub type FastSet<K> = HashSet<K, RandomState>;
