//! Counts as numbers, and as people read them.

/// A count as a real number.
#[inline]
pub(crate) fn real(count: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "dimensions and counts stay below 2^53"
    )]
    let real = count as f64;
    real
}

/// Digits in threes.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_stand_apart() {
        let said = [0, 12, 999, 1000, 16_384, 1_234_567].map(thousands);
        assert_eq!(said, ["0", "12", "999", "1,000", "16,384", "1,234,567"]);
    }
}
