//! The banned phrases, each with what to write instead.

/// A phrase of whole words, in lower case.
#[derive(Debug)]
pub(crate) struct Phrase {
    pub(crate) words: &'static str,
    pub(crate) instead: &'static str,
}

const fn ban(words: &'static str, instead: &'static str) -> Phrase {
    Phrase { words, instead }
}

const NAME_IT: &str = "name the process, the user or the caller";

/// Each phrase is odd English that occurred in this repository.
const BANNED: [Phrase; 43] = [
    ban("for who", NAME_IT),
    ban("by who", NAME_IT),
    ban("of who", NAME_IT),
    ban("to who", NAME_IT),
    ban("and who", NAME_IT),
    ban("whoever", NAME_IT),
    ban("somebody", NAME_IT),
    ban("someone", NAME_IT),
    ban("nobody", NAME_IT),
    ban("anybody", NAME_IT),
    ban("everybody", NAME_IT),
    ban("that is none", "write what is missing or invalid"),
    ban("may not", "write \"must not\" or \"might not\""),
    ban("looks at nothing", "write \"idle\" or \"polls without a result\""),
    ban("asked to", "write \"requested\" or \"on request\""),
    ban("asked for", "write \"requested\""),
    ban("so many", "write a number or N"),
    ban("so often", "write a number or N"),
    ban("every so often", "write the period"),
    ban("it is said", "write the subject first"),
    ban("nothing says", "name what is missing, and the option that gives it"),
    ban("in good order", "write \"cleanly\""),
    ban("in case", "write \"if\""),
    ban("to be had", "write \"available\""),
    ban("anew", "write \"again\" or \"new\""),
    ban("brought up to date", "write \"updated\""),
    ban("one behind the other", "write \"one after the other\""),
    ban("told by", "write \"detected from\""),
    ban("is told", "write what is reported, returned or printed"),
    ban("are told", "write what is reported, returned or printed"),
    ban("was told", "write what is reported, returned or printed"),
    ban("be told", "write what is reported, returned or printed"),
    ban("for people", "write \"human-readable\""),
    ban("cannot be trusted", "write \"unreliable\""),
    ban("knows of", "write \"has\" or \"contains\""),
    ban("know of", "write \"have\" or \"contain\""),
    ban("says so", "write what is reported"),
    ban("says that", "write \"reports that\" or \"states that\""),
    ban("says what", "write the noun: the cause, the content, the value"),
    ban("says which", "write the noun: the name, the number"),
    ban("says whether", "write \"reports whether\""),
    ban("without a word", "write what is missing"),
    ban("leads nowhere", "write what does not exist"),
];

/// The banned phrases in a text. Line breaks, and the backslash before one in a string, are spaces.
pub(crate) fn phrases_in(text: &str) -> Vec<&'static Phrase> {
    let words: String =
        text.chars().map(|c| if c == '\\' || c.is_whitespace() { ' ' } else { c }).collect();
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let text = words.join(" ").to_lowercase();
    BANNED.iter().filter(|phrase| super::super::code::has_word(&text, phrase.words)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_is_found_in_a_sentence_and_not_in_a_word() {
        for phrase in &BANNED {
            let sentence = format!("Here, {} is.", phrase.words.to_uppercase());
            assert!(phrases_in(&sentence).iter().any(|found| found.words == phrase.words));
            assert_eq!(phrases_in(&format!("x{}x", phrase.words.replace(' ', "_"))).len(), 0);
            assert!(!phrase.instead.is_empty());
        }
        assert_eq!(phrases_in("may \\\n    not").len(), 1);
        assert!(phrases_in("It may stay; a reader whose ring is gone must not.").is_empty());
    }
}
