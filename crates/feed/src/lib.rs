//! From files to messages: sources, decompression, framing, damage, normalisation to book events.
