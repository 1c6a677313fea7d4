//! Files that cannot be measured.

use nanotape_wire::capture::CaptureFormat;

use crate::support::{Folder, capture::MadeCapture, nanotape};

#[test]
fn the_measurements_refuse_other_files_and_all_but_that_of_books_a_capture() {
    let folder = Folder::new("other-measured");
    let capture = folder.write("day.pcap", &MadeCapture::new(CaptureFormat::Pcap).bytes);
    let text = folder.write("rows.csv", b"a,b\n");
    for what in ["book", "feed", "plant", "replay"] {
        let ran = nanotape(["lab", "bench", what, &capture]);
        let (status, reported) = match what {
            "book" => (1, ": no messages in the file\n"),
            _ => (2, ": a capture; the measurements need a BinaryFILE day\n"),
        };
        assert_eq!(ran.status, status, "{}", ran.stderr);
        assert!(ran.stderr.ends_with(reported), "{}", ran.stderr);
        let ran = nanotape(["lab", "bench", what, &text]);
        assert!(ran.status == 2 && ran.stderr.contains(": text (CSV); "), "{}", ran.stderr);
    }
}
