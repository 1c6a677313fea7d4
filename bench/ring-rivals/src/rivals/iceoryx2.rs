//! iceoryx2: zero-copy publish and subscribe between processes, set to lose nothing.
//!
//! Its files get a prefix and a folder of this run, which the first process removes: a process that
//! is killed would leave them, and the clean-up must not touch what belongs to others.

use std::{fs, process::Stdio, time::Duration};

use iceoryx2::{
    port::{publisher::Publisher, subscriber::Subscriber},
    prelude::*,
    service::port_factory::publish_subscribe::PortFactory,
};

use super::SLOTS;
use crate::{
    Failure,
    message::Message,
    options::{Mode, Options},
    processes::{self, Second},
    report::Run,
    work::{Reader, Writer},
};

type Service = PortFactory<ipc::Service, Message, ()>;

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    set_log_level(LogLevel::Fatal);
    let goes_back = options.mode == Mode::PingPong;
    if let Some((number, name)) = &options.second {
        let node = node(name)?;
        let reader = Subscribed(service(&node, "there", options)?.subscriber_builder().create()?);
        let back = if goes_back { Some(publisher(&node, "back", options)?) } else { None };
        processes::second(options, *number, reader, back)?;
        return Ok(None);
    }
    let name = format!("ring_rivals_{}_", std::process::id());
    let files = Files { name: name.clone() };
    let run = first(options, &name, goes_back);
    drop(files);
    run.map(Some)
}

fn first(options: &Options, name: &str, goes_back: bool) -> Result<Run, Failure> {
    let node = node(name)?;
    let writer = publisher(&node, "there", options)?;
    let back = if goes_back {
        Some(Subscribed(service(&node, "back", options)?.subscriber_builder().create()?))
    } else {
        None
    };
    let seconds =
        (0..options.readers).map(|number| Second::start(options, number, name, Stdio::null()));
    let seconds = seconds.collect::<Result<Vec<_>, _>>()?;
    processes::first(options, seconds, writer, back)
}

fn node(name: &str) -> Result<Node<ipc::Service>, Failure> {
    let mut config = Config::default();
    config.global.prefix = FileName::new(name.as_bytes()).map_err(|e| format!("{e:?}"))?;
    let root = Path::new(root(name).as_bytes()).map_err(|e| format!("{e:?}"))?;
    config.global.set_root_path(&root);
    // Opening waits for the other process to have made its side.
    config.global.creation_timeout = Duration::from_secs(10);
    Ok(NodeBuilder::new().config(&config).create::<ipc::Service>()?)
}

fn service(node: &Node<ipc::Service>, name: &str, options: &Options) -> Result<Service, Failure> {
    Ok(node
        .service_builder(&name.try_into()?)
        .publish_subscribe::<Message>()
        .enable_safe_overflow(false)
        .history_size(0)
        .subscriber_max_buffer_size(SLOTS)
        .max_publishers(1)
        .max_subscribers(options.readers)
        .max_nodes(options.readers + 1)
        .open_or_create()?)
}

fn publisher(
    node: &Node<ipc::Service>,
    name: &str,
    options: &Options,
) -> Result<Published, Failure> {
    let publisher = service(node, name, options)?
        .publisher_builder()
        .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
        .create()?;
    Ok(Published(publisher))
}

fn root(name: &str) -> String {
    std::env::temp_dir().join(name).to_string_lossy().into_owned()
}

struct Published(Publisher<ipc::Service, Message, ()>);

impl Writer for Published {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        self.0.loan_uninit()?.write_payload(*message).send()?;
        Ok(())
    }
}

struct Subscribed(Subscriber<ipc::Service, Message, ()>);

impl Reader for Subscribed {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        match self.0.receive()? {
            Some(sample) => {
                see(sample.payload());
                Ok(1)
            }
            None => Ok(0),
        }
    }
}

/// What iceoryx2 leaves behind, even when all goes well.
struct Files {
    name: String,
}

impl Drop for Files {
    fn drop(&mut self) {
        // What is not there needs no removing, and nobody could be told of another error.
        let _ = fs::remove_dir_all(root(&self.name));
        for file in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with(&self.name) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}
