//! The frame of a page, and the two safe ways to insert text of a record.
//!
//! Names and labels are untrusted. Text is escaped ([`text`]). Data are in a script element of a
//! type that no browser runs, with every `<` written as an escape of JSON, so that neither
//! `</script>` nor `<!--` can end it early ([`data`]). As a second defence, a policy in the page
//! forbids every request.

use serde_json::Value;

const STYLE: &str = include_str!("assets/page.css");
const PLOT_STYLE: &str = include_str!("assets/uplot/uPlot.min.css");
const PLOT_LICENCE: &str = include_str!("assets/uplot/LICENSE");

/// No external content; scripts and styles only inside the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// A script that is part of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    /// Its file name, for readers of the page's source.
    pub(crate) name: &'static str,
    /// Its text, which must not contain `</script`.
    pub(crate) text: &'static str,
}

/// The content of a page.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// The sentence below the title, as plain text.
    pub(crate) lead: &'a str,
    /// What a reader must know before the plots.
    pub(crate) notices: &'a [Notice<'a>],
    /// Records that the scripts draw.
    pub(crate) records: &'a [&'a Value],
    pub(crate) scripts: &'a [Script],
}

/// A box at the head of a page, which is there without scripts. One without lines is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice<'a> {
    /// The name of the element.
    pub(crate) id: &'static str,
    pub(crate) heading: &'a str,
    /// Plain text.
    pub(crate) lines: &'a [String],
}

impl Page<'_> {
    /// The whole file.
    pub(crate) fn to_html(&self) -> String {
        let title = text(self.title);
        let lead = text(self.lead);
        let notices: String = self.notices.iter().map(Notice::element).collect();
        let records = data(self.records);
        let scripts: String = self.scripts.iter().map(Script::element).collect();
        format!(
            "<!doctype html>\n\
             <html lang=\"en\">\n\
             <head>\n\
             <meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n\
             <style>\n{PLOT_STYLE}\n{STYLE}</style>\n\
             </head>\n\
             <body>\n\
             <header>\n\
             <h1>{title}</h1>\n\
             <p class=\"lead\">{lead}</p>\n\
             <noscript><p class=\"banner\">The plots are drawn by scripts in this file, which are \
             switched off here.</p></noscript>\n\
             <div id=\"errors\" hidden></div>\n\
             {notices}\
             </header>\n\
             <main></main>\n\
             <footer>Drawn by nanotape. Line plots by uPlot, under the MIT licence, which is \
             in the source of this page.</footer>\n\
             <script type=\"application/json\" id=\"records\">{records}</script>\n\
             <!-- The licence of uPlot, which is included below.\n{PLOT_LICENCE}\n-->\n\
             {scripts}\
             </body>\n\
             </html>\n"
        )
    }
}

impl Notice<'_> {
    fn element(&self) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let lines = self.lines.iter().map(|line| format!("<li>{}</li>\n", text(line)));
        let (id, heading) = (self.id, text(self.heading));
        format!("<div id=\"{id}\">{heading}\n<ul>\n{}</ul>\n</div>\n", lines.collect::<String>())
    }
}

impl Script {
    fn element(&self) -> String {
        format!("<script>\n// {}\n{}</script>\n", self.name, self.text)
    }
}

/// Text as HTML, for elements and for quoted attributes.
fn text(plain: &str) -> String {
    let mut escaped = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Records as JSON for a script element. `<`, `>` and `&` occur only inside strings of JSON, so
/// writing them as escapes changes no value.
fn data(records: &[&Value]) -> String {
    let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
    format!("[\n{}\n]", lines.join(",\n"))
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_cannot_open_an_element_or_leave_an_attribute() {
        assert_eq!(text("a <b> & \"c\" 'd'"), "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    }

    #[test]
    fn data_holds_no_bracket_and_means_the_same() {
        let record = json!({"name": "</script><!-- <script> & > \u{2028}"});
        let written = data(&[&record, &record]);
        assert!(!written.contains(['<', '>', '&']), "{written}");
        let read: Value = serde_json::from_str(&written).expect("it is still JSON");
        assert_eq!(read, json!([record, record]));
    }

    #[test]
    fn no_part_of_the_program_ends_its_own_element() {
        for part in [STYLE, PLOT_STYLE] {
            assert!(!part.to_ascii_lowercase().contains("</style"));
        }
        assert!(!PLOT_LICENCE.contains("--"));
    }
}
