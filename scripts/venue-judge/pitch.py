"""pitch.py - Cboe multicast PITCH 2.x: sequenced units, per-unit clocks, messages.

segments(packets, rep) -> list of transport.Seg; numbers are unwrapped (4294967295 is followed by 1, written as
4294967296), key 'unit/N'.  All destinations are lines of the same units.  A new generation of a unit begins on a line at
number 1 after that line has shown End of Session (0x2D); lines that follow join it.
Datagrams with hdr_sequence 0 (unsequenced) are counted; their messages are not put into the books.
"""
import struct
from transport import Seg

M = 0xffffffff          # numbers 1..M

# type: (length, [(name, offset, format)], has time offset)
OID = ('order_id', 6, 'Q')
TABLE = {
    0x20: (6, [('time', 2, 'I')], False),
    0x97: (6, [], True),
    0x21: (34, [OID, ('side', 14, 's'), ('size', 15, 'I'), ('symbol', 19, '6s'), ('price', 25, 'Q'), ('flags', 33, 'B')], True),
    0x22: (26, [OID, ('side', 14, 's'), ('size', 15, 'H'), ('symbol', 17, '6s'), ('price2', 23, 'H'), ('flags', 25, 'B')], True),
    0x2F: (41, [OID, ('side', 14, 's'), ('size', 15, 'I'), ('symbol', 19, '8s'), ('price', 27, 'Q'), ('flags', 35, 'B'),
                ('mpid', 36, '4s'), ('customer', 40, 's')], True),
    0x23: (26, [OID, ('executed', 14, 'I'), ('exec_id', 18, 'Q')], True),
    0x24: (38, [OID, ('executed', 14, 'I'), ('remaining', 18, 'I'), ('exec_id', 22, 'Q'), ('price', 30, 'Q')], True),
    0x25: (18, [OID, ('canceled', 14, 'I')], True),
    0x26: (16, [OID, ('canceled', 14, 'H')], True),
    0x27: (27, [OID, ('size', 14, 'I'), ('price', 18, 'Q'), ('flags', 26, 'B')], True),
    0x28: (19, [OID, ('size', 14, 'H'), ('price2', 16, 'H'), ('flags', 18, 'B')], True),
    0x29: (14, [OID], True),
    0x2A: (41, [OID, ('side', 14, 's'), ('size', 15, 'I'), ('symbol', 19, '6s'), ('price', 25, 'Q'), ('exec_id', 33, 'Q')], True),
    0x2B: (33, [OID, ('side', 14, 's'), ('size', 15, 'H'), ('symbol', 17, '6s'), ('price2', 23, 'H'), ('exec_id', 25, 'Q')], True),
    0x30: (43, [OID, ('side', 14, 's'), ('size', 15, 'I'), ('symbol', 19, '8s'), ('price', 27, 'Q'), ('exec_id', 35, 'Q')], True),
    0x2C: (14, [('exec_id', 6, 'Q')], True),
    0x2D: (6, [], True),
    0x31: (18, [('symbol', 6, '8s'), ('status', 14, 's'), ('reg_sho', 15, 's')], True),
    0x95: (47, [('symbol', 6, '8s'), ('auction', 14, 's'), ('reference', 15, 'Q'), ('buy', 23, 'I'), ('sell', 27, 'I'),
                ('indicative', 31, 'Q'), ('auction_only', 39, 'Q')], True),
    0x96: (27, [('symbol', 6, '8s'), ('auction', 14, 's'), ('price', 15, 'Q'), ('shares', 23, 'I')], True),
    0x98: (15, [('symbol', 6, '8s'), ('rpi', 14, 's')], True),
    0xB1: (18, [('midnight', 2, 'I'), ('time', 6, 'I'), ('ns', 10, 'I'), ('date', 14, 'I')], False),
}


def looks_like(p):
    if len(p) < 8:
        return False
    l, c, u, q = struct.unpack_from('<HBBI', p, 0)
    if l < 8 or l > len(p):
        return False
    pos = 8
    for _ in range(c):
        if pos + 2 > l or p[pos] < 2:
            return False
        pos += p[pos]
    return pos == l


def segments(packets, rep):
    out = []
    lines, top = {}, {}         # lines: (unit, dst) -> [generation, next unwrapped number, ended]; top: unit -> generation
    for n, (ts, src, dst, p) in enumerate(packets, 1):
        if len(p) < 8:
            rep('malformed_block', 'packet %d has %d bytes' % (n, len(p)))
            continue
        hlen, count, unit, seq = struct.unpack_from('<HBBI', p, 0)
        if hlen < 8 or hlen > len(p):
            rep('malformed_block', 'packet %d hdr_length %d of %d' % (n, hlen, len(p)))
            continue
        if hlen < len(p):
            rep('trailing_bytes', 'packet %d hdr_length %d of %d' % (n, hlen, len(p)))
        msgs, pos, bad = [], 8, False
        for _ in range(count):
            if pos + 2 > hlen or p[pos] < 2 or pos + p[pos] > hlen:
                bad = True
                break
            msgs.append(p[pos:pos + p[pos]])
            pos += p[pos]
        if bad:
            rep('blocks_overrun', 'packet %d: %d of %d messages fit' % (n, len(msgs), count))
        elif pos != hlen:
            rep('blocks_trailing', 'packet %d: %d bytes' % (n, hlen - pos))
        if not count:
            rep('heartbeats')
        if seq == 0:
            rep('unsequenced_packets')
            rep('unsequenced_messages', n=count)
            continue
        key = 'unit/%d' % unit
        ln = lines.get((unit, dst))
        if ln is None:
            g = top.setdefault(unit, 0)
            peers = [l for (u, _), l in lines.items() if u == unit and l[0] == g]
            ref = peers[0][1] if peers else seq
            ln = lines[unit, dst] = [g, ref, False]
            first_seen = True
        else:
            first_seen = False
        if ln[2] and seq == 1 and (ln[1] - 1) % M + 1 != 1:
            ln[0] += 1
            if ln[0] > top[unit]:
                top[unit] = ln[0]
            ln[1], ln[2] = 1, False
            rep('session_after_end', '%s packet %d line %s' % (key, n, dst))
        # unwrap: the number nearest to what the line expects
        d = (seq - 1 - (ln[1] - 1)) % M
        if d > M // 2:
            d -= M
        q = ln[1] + d
        if q < 1:
            q += M
        if not first_seen:
            if d > 0:
                rep('line_gap', '%s line %s packet %d: %d..%d' % (key, dst, n, ln[1], q - 1))
            elif d < 0:
                rep('line_duplicate_or_late', '%s line %s packet %d: %d, expected %d' % (key, dst, n, q, ln[1]))
        if q <= M < q + count - 1 or q == M + 1:
            rep('sequence_wrap', '%s packet %d' % (key, n))
        ln[1] = max(ln[1], q + count) if not first_seen else q + count
        if any(m[1] == 0x2D for m in msgs):
            ln[2] = True
        out.append(Seg(key, dst, ln[0], q, msgs, n, ts, count))
    return out


def decode(m):
    d = TABLE.get(m[1])
    if d is None:
        return ('unknown_type', 'type 0x%02x length %d' % (m[1], len(m)))
    if len(m) < d[0]:
        return ('short_message', 'type 0x%02x length %d < %d' % (m[1], len(m), d[0]))
    r = {'type': m[1], 'tail': len(m) - d[0]}
    if d[2]:
        r['off'] = struct.unpack_from('<I', m, 2)[0]
    for name, off, f in d[1]:
        v = struct.unpack_from('<' + f, m, off)[0]
        r[name] = v.decode('latin-1').rstrip(' ') if isinstance(v, bytes) else v
    if 'price2' in r:
        r['price'] = r.pop('price2') * 100
    return r


class Clock:
    def __init__(self):
        self.sec = {}

    def reset(self, owner):
        self.sec.pop(owner, None)


def apply(e, clock, owner, m):
    d = decode(m)
    if isinstance(d, tuple):
        e.misfit(*d)
        e.count('unknown 0x%02X' % m[1] if d[0] == 'unknown_type' else d[0])
        return None
    t = d['type']
    e.count('0x%02X' % t)
    if d['tail'] and not (t == 0x20 and len(m) == 10):
        e.misfit('grown_message', '')
    if t == 0x20:
        clock.sec[owner] = d['time']
        return d
    if t == 0xB1:                           # not a clock message: only 0x20 sets the clock
        return d
    if owner not in clock.sec:
        e.misfit('no_time_yet', '%s type 0x%02X' % (owner, t))
    ts = d['ts'] = clock.sec.get(owner, 0) * 1000000000 + d['off']
    if t == 0x97:
        for s in e.clear_owner(owner):
            e.end(ts, s, 'flag')
        return d
    if t == 0x2D:
        return d
    s = None
    if d.get('symbol'):
        s = e.sym('pitch', d['symbol'])
        s.st['messages'] += 1
        was = getattr(s, 'owner', owner)
        s.owner = owner
        if was != owner:
            e.misfit('symbol_in_two_units', '%s %s %s' % (s.name, was, owner))
    if t in (0x21, 0x22, 0x2F):
        side = {'B': 0, 'S': 1}.get(d['side'])
        if side is None:
            e.misfit('bad_side', d['side'])
            return d
        e.before(ts, s)
        if e.add(s, (owner, d['order_id']), side, d['price'], d['size']):
            e.end(ts, s)
    elif 0x23 <= t <= 0x29:
        key = (owner, d['order_id'])
        o = e.find(key, '0x%02X' % t)
        if o is None:
            return d
        s = o[0]
        d['symbol'] = s.name
        s.st['messages'] += 1
        e.before(ts, s)
        if t == 0x23:
            s.st['executions'] += 1
            if d['executed']:
                e.trade(ts, s, owner, o[2], d['executed'], d['exec_id'])
                e.reduce(key, d['executed'], 'over_execution')
            else:
                e.misfit('zero_execution', '%s' % (key,))
        elif t == 0x24:
            s.st['executions'] += 1
            if d['executed']:
                e.trade(ts, s, owner, d['price'], d['executed'], d['exec_id'])
            else:
                e.misfit('zero_execution', '%s' % (key,))
            if d['executed'] > o[3]:
                e.misfit('over_execution', '%s %s has %d, message %d' % (s.name, key, o[3], d['executed']))
            if d['remaining'] != o[3] - d['executed']:
                e.misfit('remaining_differs', '')       # legal
            e.set_size(key, d['remaining'])
        elif t in (0x25, 0x26):
            s.st['modifies'] += 1
            e.reduce(key, d['canceled'], 'over_cancel')
        elif t in (0x27, 0x28):
            e.modify(key, d['price'], d['size'], d['flags'] & 2)
        else:
            s.st['deletes'] += 1
            e._take(key)
        e.end(ts, s)
    elif t in (0x2A, 0x2B, 0x30):
        e.trade(ts, s, owner, d['price'], d['size'], d['exec_id'])
    elif t == 0x2C:
        s = e.break_(ts, owner, d['exec_id'])
        if s:
            s.st['messages'] += 1
            d['symbol'] = s.name
    return d
