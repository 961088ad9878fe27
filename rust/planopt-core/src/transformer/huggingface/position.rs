//! Where a field stands in a JSON text: `serde_json` keeps no positions.

use crate::diagnostic::Position;

/// The position of the key at `path` in a text that is valid JSON, if it is written without
/// escapes.
pub(super) fn locate(text: &str, path: &[&str]) -> Option<Position> {
    let bytes = text.as_bytes();
    let (mut depth, mut matched, mut at) = (0, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            // The object that should hold the key has ended without it.
            b'}' | b']' if depth == matched + 1 => return None,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let end = end_of_string(bytes, at);
                let is_key = text[end..].trim_start().starts_with(':');
                if is_key
                    && depth == matched + 1
                    && text.get(at + 1..end - 1) == Some(path[matched])
                {
                    matched += 1;
                    if matched == path.len() {
                        return Some(Position::in_text(text, at));
                    }
                }
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// One past the quotation mark that closes the string opened at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::locate;
    use crate::diagnostic::Position;

    const TEXT: &str = r#"{
  "note": "a \" quote, and \"size\": 1",
  "list": [{"size": 2}],
  "é": {"size": 3}, "size": 4,
  "inner": {"size": 5}
}"#;

    #[test]
    fn finds_the_key_of_its_own_object() {
        // Strings, objects in lists and other objects hold the same word.
        assert_eq!(
            locate(TEXT, &["size"]),
            Some(Position {
                line: 4,
                column: 21
            })
        );
        assert_eq!(
            locate(TEXT, &["inner", "size"]),
            Some(Position {
                line: 5,
                column: 13
            })
        );
    }

    #[test]
    fn finds_nothing_that_is_not_there() {
        assert_eq!(locate(TEXT, &["width"]), None);
        assert_eq!(locate(TEXT, &["inner", "width"]), None);
        assert_eq!(locate(TEXT, &["list", "size"]), None);
    }
}
