//! Things that are alike, together.

/// Groups of things with equal keys, in the order of the first of each.
pub(super) fn alike<T, K: PartialEq>(
    things: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<T>> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for thing in things {
        let key = key(&thing);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(thing),
            None => groups.push((key, vec![thing])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
