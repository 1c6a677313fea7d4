//! Files that cannot be measured.

use nanotape_wire::capture::CaptureFormat;

use crate::support::{Folder, capture::MadeCapture, nanotape};

#[test]
fn the_measurements_refuse_a_capture_and_other_files() {
    let folder = Folder::new("other-measured");
    let capture = folder.write("day.pcap", &MadeCapture::new(CaptureFormat::Pcap).bytes);
    let text = folder.write("rows.csv", b"a,b\n");
    for what in ["book", "feed", "plant", "replay"] {
        let ran = nanotape(["lab", "bench", what, &capture]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        let reported = ": a capture; the measurements need a BinaryFILE day\n";
        assert!(ran.stderr.ends_with(reported), "{}", ran.stderr);
        let ran = nanotape(["lab", "bench", what, &text]);
        assert!(ran.status == 2 && ran.stderr.contains(": text (CSV); "), "{}", ran.stderr);
    }
}
