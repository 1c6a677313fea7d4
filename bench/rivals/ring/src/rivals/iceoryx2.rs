//! iceoryx2: zero-copy publish and subscribe between processes, set to lose nothing.
//!
//! A process that is killed leaves its files. So the files of a run have a prefix and a folder of
//! their own, which the first process removes without touching the files of other programs.

use std::{env, process::Stdio, time::Duration};

use iceoryx2::{
    port::{publisher::Publisher, subscriber::Subscriber},
    prelude::*,
    service::port_factory::publish_subscribe::PortFactory,
};
use rivals_measure::{
    Failure,
    scratch::{self, Scratch},
};

use super::SLOTS;
use crate::{
    options::{Mode, Options},
    processes::{self, Second},
    report::Run,
    work::{Message, Reader, Writer},
};

type Service = PortFactory<ipc::Service, Message, ()>;
type IpcNode = Node<ipc::Service>;

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    set_log_level(LogLevel::Fatal);
    let goes_back = options.mode == Mode::PingPong;
    if let Some(number) = options.second {
        let node = node(&options.queue)?;
        let reader = subscriber(&node, "there", options)?;
        let back = goes_back.then(|| publisher(&node, "back", options)).transpose()?;
        processes::second(options, number, reader, back)?;
        return Ok(None);
    }
    // Even after a good run iceoryx2 leaves files.
    let _files = Scratch(vec!["/dev/shm".into(), env::temp_dir()]);
    first(options, &scratch::prefix(), goes_back).map(Some)
}

fn first(options: &Options, name: &str, goes_back: bool) -> Result<Run, Failure> {
    let node = node(name)?;
    let writer = publisher(&node, "there", options)?;
    let back = goes_back.then(|| subscriber(&node, "back", options)).transpose()?;
    let seconds = (0..options.readers).map(|number| Second::start(number, name, Stdio::null()));
    let seconds = seconds.collect::<Result<Vec<_>, _>>()?;
    processes::first(options, seconds, writer, || Ok(back))
}

fn node(name: &str) -> Result<IpcNode, Failure> {
    let mut config = Config::default();
    config.global.prefix = FileName::new(name.as_bytes()).map_err(|e| format!("{e:?}"))?;
    let root = env::temp_dir().join(name).to_string_lossy().into_owned();
    config.global.set_root_path(&Path::new(root.as_bytes()).map_err(|e| format!("{e:?}"))?);
    // How long opening waits until the other process has created its side.
    config.global.creation_timeout = Duration::from_secs(10);
    Ok(NodeBuilder::new().config(&config).create::<ipc::Service>()?)
}

fn service(node: &IpcNode, name: &str, options: &Options) -> Result<Service, Failure> {
    Ok(node
        .service_builder(&name.try_into()?)
        .publish_subscribe::<Message>()
        .enable_safe_overflow(false)
        .history_size(0)
        .subscriber_max_buffer_size(SLOTS)
        .max_publishers(1)
        .max_subscribers(options.readers as usize)
        .max_nodes(options.readers as usize + 1)
        .open_or_create()?)
}

fn publisher(node: &IpcNode, name: &str, options: &Options) -> Result<Published, Failure> {
    let publisher = service(node, name, options)?
        .publisher_builder()
        .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
        .create()?;
    Ok(Published(publisher))
}

fn subscriber(node: &IpcNode, name: &str, options: &Options) -> Result<Subscribed, Failure> {
    Ok(Subscribed(service(node, name, options)?.subscriber_builder().create()?))
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
