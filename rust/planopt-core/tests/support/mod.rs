//! Questions of tests: options by their names, as people put them.

use planopt_core::request::{doors, read};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Options as the groups of a question; what no group has stays where it is.
pub(crate) fn grouped(door: &str, options: &Value) -> Value {
    let groups = doors().remove(door).expect("a door");
    let mut question = json!({});
    for (name, value) in options.as_object().expect("options have names") {
        if value.is_null() {
            continue;
        }
        let own = groups.iter().any(|(group, _)| group == name);
        let of_group = groups
            .iter()
            .find(|(_, keys)| keys.contains(&name.as_str()));
        match of_group {
            _ if own && value.is_string() => question[name]["name"] = value.clone(),
            _ if own => question[name] = value.clone(),
            Some((group, _)) => question[group][name] = value.clone(),
            None => question[name] = value.clone(),
        }
    }
    question
}

/// The question of a door.
pub(crate) fn asked<T: DeserializeOwned>(door: &str, options: &Value) -> T {
    read(&grouped(door, options)).expect("a question")
}
