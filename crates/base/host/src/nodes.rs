//! The memory nodes (NUMA) of the machine: their processors, and the pages that a mapping has on
//! each.

use crate::{CpuList, System, usable_cpus};

const FOLDER: &str = "/sys/devices/system/node";

impl System {
    /// The memory nodes, in order; node 0 alone if the kernel does not separate nodes.
    pub fn memory_nodes(&self) -> Vec<u32> {
        let online = self.read(&format!("{FOLDER}/online")).and_then(|text| CpuList::parse(&text));
        let nodes: Vec<u32> = online.iter().flat_map(CpuList::iter).collect();
        if nodes.is_empty() { vec![0] } else { nodes }
    }

    /// The processors of a node; `None` if the kernel does not separate nodes.
    pub fn processors_of_node(&self, node: u32) -> Option<CpuList> {
        CpuList::parse(&self.read(&format!("{FOLDER}/node{node}/cpulist"))?)
    }
}

/// The processors of a node that a thread of this process may use; on a machine whose kernel does
/// not separate nodes, all of them.
pub fn usable_cpus_of_node(node: u32) -> Vec<u32> {
    let of_node = System::default().processors_of_node(node);
    let is_there = |cpu: &u32| of_node.as_ref().is_none_or(|cpus| cpus.contains(*cpu));
    usable_cpus().into_iter().filter(is_there).collect()
}

/// The bytes that the mapping of this process at an address has on each node, as the kernel counts
/// them; `None` if it does not.
pub fn bytes_on_nodes(address: usize) -> Option<Vec<(u32, u64)>> {
    // A process with many mappings has a file of some megabytes.
    counted(&std::fs::read_to_string("/proc/self/numa_maps").ok()?, address)
}

/// Reads the line of a mapping: `7f00 bind:1 file=/dev/shm/x N0=3 N1=512 kernelpagesize_kB=4`.
fn counted(maps: &str, address: usize) -> Option<Vec<(u32, u64)>> {
    let starts_here = |line: &&str| {
        let start = line.split(' ').next().and_then(|word| usize::from_str_radix(word, 16).ok());
        start == Some(address)
    };
    let line = maps.lines().find(starts_here)?;
    // A path has its spaces escaped, so a word of it cannot be taken for another one.
    let mut words = line.split(' ');
    let size = words.clone().find_map(|word| word.strip_prefix("kernelpagesize_kB="))?;
    let page_bytes: u64 = size.parse::<u64>().ok()?.checked_mul(1024)?;
    words.next();
    let on_node = |word: &str| {
        let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
        Some((node.parse().ok()?, pages.parse::<u64>().ok()?.checked_mul(page_bytes)?))
    };
    Some(words.filter_map(on_node).collect())
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    #[test]
    fn a_machine_has_the_nodes_of_its_files_and_else_one() {
        let root = Scratch::folder("nodes");
        let system = System::at(root.path());
        assert_eq!((system.memory_nodes(), system.processors_of_node(0)), (vec![0], None));
        let folder = root.join("sys/devices/system/node/node2");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(root.join("sys/devices/system/node/online"), "0,2\n").unwrap();
        std::fs::write(folder.join("cpulist"), "4-7\n").unwrap();
        assert_eq!(system.memory_nodes(), [0, 2]);
        assert_eq!(system.processors_of_node(2).map(|cpus| cpus.count()), Some(4));
        std::fs::write(root.join("sys/devices/system/node/online"), "rubbish").unwrap();
        assert_eq!(system.memory_nodes(), [0]);
    }

    #[test]
    fn pages_are_counted_by_node_and_rubbish_counts_nothing() {
        let maps = "7f00 bind:1 file=/dev/shm/a\\040N9=9 dirty=515 N0=3 N1=512 kernelpagesize_kB=4\n\
                    7f0000 default anon=1 N0=1 kernelpagesize_kB=2048\n\
                    7e00 default N0=x N1=99999999999999999999 kernelpagesize_kB=4\n\
                    7d00 default N0=1\n";
        assert_eq!(counted(maps, 0x7f00), Some(vec![(0, 12_288), (1, 2_097_152)]));
        assert_eq!(counted(maps, 0x7f_0000), Some(vec![(0, 2 << 20)]));
        assert_eq!(counted(maps, 0x7e00), Some(Vec::new()));
        assert_eq!((counted(maps, 0x7d00), counted(maps, 0x7c00)), (None, None));
    }

    #[test]
    fn this_machine_has_a_node_with_processors() {
        let nodes = System::default().memory_nodes();
        assert!(nodes.iter().any(|&node| !usable_cpus_of_node(node).is_empty()), "{nodes:?}");
    }
}
