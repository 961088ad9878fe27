//! Problems of options.

use super::{Diagnostic, Problems, code};

/// An option with a name that is not known.
pub(crate) fn unknown_name(option: &str, value: &str, accepted: String) -> Diagnostic {
    Diagnostic::new(code::UNKNOWN_NAME, format!("unknown {option} `{value}`"))
        .field(flag(option))
        .value(value)
        .accepted(accepted)
}

/// An option with a value that cannot be.
pub(crate) fn wrong_option(option: &str, value: String, accepted: String) -> Diagnostic {
    Diagnostic::new(
        code::OPTION_OUT_OF_RANGE,
        format!("{option} cannot be {value}"),
    )
    .field(flag(option))
    .value(value)
    .accepted(accepted)
}

fn flag(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// What a word stands for, the first choice where none is given.
pub(crate) fn chosen<T: Copy>(
    option: &str,
    word: Option<&str>,
    choices: &[(&str, T)],
    problems: &mut Problems,
) -> T {
    let default = choices[0].1;
    let Some(word) = word else {
        return default;
    };
    let named = choices.iter().find(|(name, _)| *name == word);
    named.map_or_else(
        || {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            problems.push(unknown_name(option, word, names.join(", ")));
            default
        },
        |(_, choice)| *choice,
    )
}
