"""capture.py - naive capture reader (pcap 2.4 us/ns both orders, pcapng, gzip, zstd through the zstd tool).

  for ts_ns, src, dst, payload in read(path, stats): ...

src and dst are "ip:port" strings.  ts_ns is None for pcapng Simple Packet Blocks.
`stats` (collections.Counter) counts: frames, udp, non_ip, non_udp, fragments, truncated,
bad_ip_checksum, bad_udp_checksum, unknown_link, capture_truncated, bad_block.
Checksums are counted, never a reason to drop.
As a program:  capture.py FILE   prints one line for every datagram.
"""
import collections, gzip, struct, subprocess, sys


def load(path):
    with open(path, 'rb') as f:
        data = f.read()
    while True:
        if data[:2] == b'\x1f\x8b':
            data = gzip.decompress(data)
        elif data[:4] == b'\x28\xb5\x2f\xfd':
            data = subprocess.run(['zstd', '-dc'], input=data, stdout=subprocess.PIPE, check=True).stdout
        else:
            return data


def is_capture(data):
    return data[:4] in (b'\x0a\x0d\x0d\x0a', b'\xd4\xc3\xb2\xa1', b'\xa1\xb2\xc3\xd4',
                        b'\x4d\x3c\xb2\xa1', b'\xa1\xb2\x3c\x4d')


def frames(data, stats):
    """yields (ts_ns, linktype, captured bytes)"""
    if data[:4] == b'\x0a\x0d\x0d\x0a':
        yield from _pcapng(data, stats)
        return
    magic = data[:4]
    order = '<' if magic in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    value = struct.unpack(order + 'I', magic)[0]
    if value == 0xa1b2c3d4:
        scale = 1000
    elif value == 0xa1b23c4d:
        scale = 1
    else:
        raise ValueError('not a capture')
    link = struct.unpack_from(order + 'I', data, 20)[0] & 0xffff
    pos = 24
    while pos < len(data):
        if pos + 16 > len(data):
            stats['capture_truncated'] += 1
            return
        sec, frac, incl, orig = struct.unpack_from(order + 'IIII', data, pos)
        pos += 16
        if pos + incl > len(data):
            stats['capture_truncated'] += 1
            return
        yield sec * 1000000000 + frac * scale, link, data[pos:pos + incl]
        pos += incl


def _options(order, data, pos, end):
    while pos + 4 <= end:
        code, length = struct.unpack_from(order + 'HH', data, pos)
        pos += 4
        if code == 0 or pos + length > end:
            return
        yield code, data[pos:pos + length]
        pos += (length + 3) & ~3


def _pcapng(data, stats):
    pos = 0
    order = '<'
    interfaces = []
    while pos < len(data):
        if pos + 12 > len(data):
            stats['capture_truncated'] += 1
            return
        if data[pos:pos + 4] == b'\x0a\x0d\x0d\x0a':
            bom = data[pos + 8:pos + 12]
            if bom == b'\x4d\x3c\x2b\x1a':
                order = '<'
            elif bom == b'\x1a\x2b\x3c\x4d':
                order = '>'
            else:
                stats['bad_block'] += 1
                return
            interfaces = []
        kind, length = struct.unpack_from(order + 'II', data, pos)
        if length < 12 or length % 4:
            stats['bad_block'] += 1
            return
        if pos + length > len(data):
            stats['capture_truncated'] += 1
            return
        if struct.unpack_from(order + 'I', data, pos + length - 4)[0] != length:
            stats['bad_block'] += 1
            return
        end = pos + length - 4
        if kind == 1:
            link, _, snap = struct.unpack_from(order + 'HHI', data, pos + 8)
            resol, offset = 6, 0
            for code, val in _options(order, data, pos + 16, end):
                if code == 9 and val:
                    resol = val[0]
                elif code == 14 and len(val) == 8:
                    offset = struct.unpack(order + 'q', val)[0]
            interfaces.append((link, snap, resol, offset))
        elif kind in (6, 2):
            if kind == 6:
                iface, hi, lo, cap, orig = struct.unpack_from(order + 'IIIII', data, pos + 8)
            else:
                iface, _, hi, lo, cap, orig = struct.unpack_from(order + 'HHIIII', data, pos + 8)
            if iface >= len(interfaces) or pos + 28 + cap > end:
                stats['bad_block'] += 1
            else:
                link, snap, resol, offset = interfaces[iface]
                t = hi << 32 | lo
                if resol & 0x80:
                    ns = t * 1000000000 >> (resol & 0x7f)
                else:
                    ns = t * 1000000000 // 10 ** resol
                yield ns + offset * 1000000000, link, data[pos + 28:pos + 28 + cap]
        elif kind == 3:
            if not interfaces:
                stats['bad_block'] += 1
            else:
                link, snap, _, _ = interfaces[0]
                orig = struct.unpack_from(order + 'I', data, pos + 8)[0]
                cap = min(orig, snap) if snap else orig
                yield None, link, data[pos + 12:pos + 12 + min(cap, end - pos - 12)]
        pos += length


def _sum16(b):
    if len(b) % 2:
        b = b + b'\0'
    s = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return s


def udp(link, f, stats):
    """frame -> (src, dst, payload) or None"""
    if link == 1:
        if len(f) < 14:
            stats['truncated'] += 1
            return None
        pos = 14
        et = f[12] << 8 | f[13]
        while et in (0x8100, 0x88a8, 0x9100):
            if len(f) < pos + 4:
                stats['truncated'] += 1
                return None
            et = f[pos + 2] << 8 | f[pos + 3]
            pos += 4
        if et != 0x0800:
            stats['non_ip'] += 1
            return None
    elif link in (12, 14, 101, 228):
        pos = 0
    elif link in (0, 108):
        pos = 4
    elif link == 113:
        pos = 16
        if f[14:16] != b'\x08\x00':
            stats['non_ip'] += 1
            return None
    elif link == 276:
        pos = 20
        if f[0:2] != b'\x08\x00':
            stats['non_ip'] += 1
            return None
    else:
        stats['unknown_link'] += 1
        return None
    if len(f) < pos + 20:
        stats['truncated'] += 1
        return None
    if f[pos] >> 4 != 4:
        stats['non_ip'] += 1
        return None
    ihl = (f[pos] & 15) * 4
    total, _, frag, _, proto = struct.unpack_from('>HHHBB', f, pos + 2)
    if ihl < 20 or total < ihl or len(f) < pos + total:
        stats['truncated'] += 1
        return None
    if _sum16(f[pos:pos + ihl]) != 0xffff:
        stats['bad_ip_checksum'] += 1
    if frag & 0x3fff:
        stats['fragments'] += 1
        return None
    if proto != 17:
        stats['non_udp'] += 1
        return None
    u = pos + ihl
    if total < ihl + 8:
        stats['truncated'] += 1
        return None
    sport, dport, ulen, csum = struct.unpack_from('>HHHH', f, u)
    if ulen < 8 or total < ihl + ulen:
        stats['truncated'] += 1
        return None
    if csum:
        pseudo = f[pos + 12:pos + 20] + struct.pack('>HH', 17, ulen)
        if _sum16(pseudo + f[u:u + ulen]) != 0xffff:
            stats['bad_udp_checksum'] += 1
    src = '%d.%d.%d.%d:%d' % (*f[pos + 12:pos + 16], sport)
    dst = '%d.%d.%d.%d:%d' % (*f[pos + 16:pos + 20], dport)
    return src, dst, f[u + 8:u + ulen]


def read_data(data, stats):
    for ts, link, f in frames(data, stats):
        stats['frames'] += 1
        r = udp(link, f, stats)
        if r:
            stats['udp'] += 1
            yield (ts,) + r


def read(path, stats):
    yield from read_data(load(path), stats)


if __name__ == '__main__':
    st = collections.Counter()
    for ts, src, dst, p in read(sys.argv[1], st):
        print(ts, src, dst, len(p), p[:48].hex())
    print(dict(st), file=sys.stderr)
