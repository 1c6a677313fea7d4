"""iex.py - IEX-TP segments, and DEEP 1.0, DEEP+ 1.0, TOPS 1.6 (1.5) messages.

segments(packets, rep, protocols)  -> list of transport.Seg   (checks of version, lengths, session, offsets, restart)
decode(proto, bytes) -> dict or ('short'|'unknown', text)
apply(engine, proto, owner, bytes)

Generation of a stream (key = protocol id, channel), decided on each line (destination address) by itself:
  - another session_id than the line had: new generation (or the one that another line opened for this session already);
  - first number 1 under the same session_id, when the line was past 1 and send_time is later than every send_time the
    line has shown: a restart, a new stream.  An old send_time makes it a duplicate.
"""
import struct
from transport import Seg

TOPS15, TOPS16, DEEP, DPLS = 0x8002, 0x8003, 0x8004, 0x8005
NAMES = {TOPS15: 'tops15', TOPS16: 'tops', DEEP: 'deep', DPLS: 'deepplus'}

# type: (length, [(name, offset, format)]); byte 1 is `b1`
P = 'q'
ADMIN = {
    'S': (10, []),
    'D': (31, [('round_lot', 18, 'I'), ('poc', 22, P), ('luld', 30, 'B')]),
    'H': (22, [('reason', 18, '4s')]),
    'I': (18, []),
    'O': (18, []),
    'P': (19, [('detail', 18, 's')]),
    'E': (18, []),
}
PRINT = (38, [('size', 18, 'I'), ('price', 22, P), ('trade_id', 30, 'q')])
AUCTION = (80, [('paired', 18, 'I'), ('reference', 22, P), ('indicative', 30, P), ('imbalance', 38, 'I'),
                ('imbalance_side', 42, 's'), ('extension', 43, 'B'), ('scheduled', 44, 'I'), ('book_clearing', 48, P),
                ('collar', 56, P), ('lower', 64, P), ('upper', 72, P)])
LEVEL = (30, [('size', 18, 'I'), ('price', 22, P)])
TABLE = {
    DEEP: dict(ADMIN, **{'8': LEVEL, '5': LEVEL, 'T': PRINT, 'B': PRINT, 'X': (26, [('price', 18, P)]), 'A': AUCTION}),
    DPLS: dict(ADMIN, **{
        'a': (38, [('order_id', 18, 'q'), ('size', 26, 'I'), ('price', 30, P)]),
        'M': (38, [('order_id', 18, 'q'), ('size', 26, 'I'), ('price', 30, P)]),
        'R': (26, [('order_id', 18, 'q')]),
        'L': (46, [('order_id', 18, 'q'), ('size', 26, 'I'), ('price', 30, P), ('trade_id', 38, 'q')]),
        'T': PRINT, 'B': PRINT, 'C': (18, [])}),
    TOPS16: dict(ADMIN, **{
        'Q': (42, [('bid_size', 18, 'I'), ('bid_price', 22, P), ('ask_price', 30, P), ('ask_size', 38, 'I')]),
        'T': PRINT, 'B': PRINT, 'X': (26, [('price', 18, P)]), 'A': AUCTION}),
}
TABLE[TOPS15] = TABLE[TOPS16]       # 1.5 trade reports only have four more bytes at the end


def looks_like(p):
    return len(p) >= 40 and p[0] == 1 and p[1] == 0 and struct.unpack_from('<H', p, 2)[0] in NAMES


class _Line:
    def __init__(self):
        self.session = self.gen = None
        self.next = 1
        self.sent = -1


def segments(packets, rep, protocols=None):
    out = []
    lines, gens, offsets = {}, {}, {}
    # gens: key -> list of [session, restart count, send_time of its first segment]
    for n, (ts, src, dst, p) in enumerate(packets, 1):
        if len(p) < 40:
            rep('malformed_segment', 'packet %d has %d bytes' % (n, len(p)))
            continue
        ver, res, proto, chan, sess, plen, count, off, first, sent = struct.unpack_from('<BBHIIHHqqq', p, 0)
        if ver != 1:
            rep('bad_version', 'packet %d version %d' % (n, ver))
            continue
        if proto not in NAMES:
            rep('unknown_protocol', 'packet %d protocol 0x%04x' % (n, proto))
            continue
        if protocols and proto not in protocols:
            rep('other_protocol', 'packet %d protocol 0x%04x' % (n, proto))
            continue
        if plen != len(p) - 40:
            rep('payload_length_mismatch', 'packet %d says %d, has %d' % (n, plen, len(p) - 40))
            if plen > len(p) - 40:
                continue                    # cut short: nothing of it is used
        msgs, pos, end, starts = [], 40, 40 + plen, []
        bad = False
        for _ in range(count):
            if pos + 2 > end:
                bad = True
                break
            l = p[pos] | p[pos + 1] << 8
            if pos + 2 + l > end:
                bad = True
                break
            starts.append(off + pos - 40)
            msgs.append(p[pos + 2:pos + 2 + l])
            pos += 2 + l
        if bad:
            rep('blocks_overrun', 'packet %d: %d of %d messages fit' % (n, len(msgs), count))
        elif pos != end:
            rep('blocks_trailing', 'packet %d: %d bytes after the last message' % (n, end - pos))
        if not count:
            rep('heartbeats')
        key = '%s/%d' % (NAMES[proto], chan)
        g = gens.setdefault(key, [])
        ln = lines.setdefault((key, dst), _Line())
        if ln.gen is None or ln.session != sess:
            if ln.gen is not None:
                rep('session_change', '%s packet %d line %s: session %d -> %d' % (key, n, dst, ln.session, sess))
            cand = [i for i, x in enumerate(g) if x[0] == sess and x[2] <= sent] or [i for i, x in enumerate(g) if x[0] == sess]
            if cand:
                ln.gen = cand[-1]
            else:
                g.append([sess, 0, sent])
                ln.gen = len(g) - 1
            ln.session, ln.next, ln.sent = sess, first, sent
        elif first == 1 and ln.next > 1 and sent > ln.sent:
            want = g[ln.gen][1] + 1
            nxt = [i for i, x in enumerate(g) if x[0] == sess and x[1] == want]
            if not nxt:
                g.append([sess, want, sent])
                nxt = [len(g) - 1]
            ln.gen, ln.next = nxt[0], 1
            rep('restart_at_1', '%s packet %d line %s session %d' % (key, n, dst, sess))
        elif first < ln.next and sent > ln.sent and ln.gen < len(g) - 1 and g[-1][0] == sess:
            ln.gen, ln.next = len(g) - 1, first     # the line's own packet 1 was lost; another line showed the restart
            rep('restart_followed', '%s packet %d line %s' % (key, n, dst))
        if first > ln.next:
            rep('line_gap', '%s line %s packet %d: %d..%d' % (key, dst, n, ln.next, first - 1))
        elif first < ln.next:
            if sent > ln.sent and count:
                rep('backward_with_newer_send_time', '%s line %s packet %d: %d, expected %d' % (key, dst, n, first, ln.next))
            else:
                rep('line_duplicate_or_late', '%s line %s packet %d: %d, expected %d' % (key, dst, n, first, ln.next))
        ln.next = max(ln.next, first + count)
        ln.sent = max(ln.sent, sent)
        # offsets: number -> byte offset at which it starts, the same on all lines
        om = offsets.setdefault((key, ln.gen), {1: 0})
        wrong = None
        for j, so in enumerate(starts + [off + plen] if not bad else starts):
            q = first + j
            if om.get(q, so) != so and wrong is None:
                wrong = (q, om[q], so)
            om[q] = so
        if wrong:
            rep('offset_mismatch', '%s packet %d number %d: offset %d expected, %d found' % (key, n, *wrong))
        if first == 1 and off != 0:
            rep('offset_not_zero_at_1', '%s packet %d' % (key, n))
        out.append(Seg(key, dst, ln.gen, first, msgs, n, ts, count))
    return out


def decode(proto, m):
    t = chr(m[0]) if m else ''
    d = TABLE[proto].get(t)
    if d is None:
        return ('unknown_type', 'type 0x%02x length %d' % (m[0] if m else 0, len(m)))
    if len(m) < d[0]:
        return ('short_message', 'type %s length %d < %d' % (t, len(m), d[0]))
    r = {'type': t, 'b1': m[1], 'ts': struct.unpack_from('<q', m, 2)[0], 'tail': len(m) - d[0]}
    if t != 'S':
        r['symbol'] = m[10:18].decode('latin-1').rstrip(' ')
    for name, off, f in d[1]:
        v = struct.unpack_from('<' + f, m, off)[0]
        r[name] = v.decode('latin-1').rstrip(' ') if isinstance(v, bytes) else v
    return r


def apply(e, proto, owner, m):
    """returns the decoded message, or None"""
    d = decode(proto, m)
    if isinstance(d, tuple):
        e.misfit(*d)
        e.count('unknown 0x%02x' % m[0] if m and d[0] == 'unknown_type' else d[0])
        return None
    t, ts = d['type'], d['ts']
    e.count(t)
    if d['tail'] and not (proto == TOPS15 and t in 'TB'):
        e.misfit('grown_message', '')
    if t == 'S':
        return d
    s = e.sym(NAMES[proto], d['symbol'])
    s.st['messages'] += 1
    if proto == DEEP:
        if t in '85':
            e.level(s, 0 if t == '8' else 1, d['price'], d['size'])
            if d['b1'] & 1:
                e.end(ts, s, 'flag')
        elif t == 'T':
            e.trade(ts, s, owner, d['price'], d['size'], d['trade_id'])
        elif t == 'B':
            e.break_(ts, owner, d['trade_id'], (s.name, d['price'], d['size']))
    elif proto == DPLS:
        e.before(ts, s)
        if t == 'a':
            side = {0x38: 0, 0x35: 1}.get(d['b1'])
            if side is None:
                e.misfit('bad_side', 'byte 0x%02x' % d['b1'])
            elif e.add(s, (owner, d['order_id']), side, d['price'], d['size']):
                e.end(ts, s)
        elif t in 'MRL':
            key = (owner, d['order_id'])
            o = e.find(key, t)
            if t == 'L':
                s.st['executions'] += 1
                if d['size']:
                    e.trade(ts, s, owner, d['price'], d['size'], d['trade_id'])
                else:
                    e.misfit('zero_execution', '%s' % (key,))
            if o:
                if o[0] is not s:
                    e.misfit('symbol_differs_from_order', '%s, order %s' % (s.name, o[0].name))
                s = o[0]
                if t == 'M':
                    e.modify(key, d['price'], d['size'], d['b1'] & 1)
                elif t == 'R':
                    s.st['deletes'] += 1
                    e._take(key)
                elif d['size']:
                    e.reduce(key, d['size'], 'over_execution')
                e.end(ts, s)
        elif t == 'C':
            e.clear_symbol(s)
            e.end(ts, s)
        elif t == 'T':
            e.trade(ts, s, owner, d['price'], d['size'], d['trade_id'])
        elif t == 'B':
            e.break_(ts, owner, d['trade_id'], (s.name, d['price'], d['size']))
    else:
        if t == 'Q':
            s.dirty = True
            b, a = d['bid_size'], d['ask_size']
            s.levels = ({d['bid_price']: b} if b else {}, {d['ask_price']: a} if a else {})
            s.st['modifies'] += 1
            e.end(ts, s, 'flag')
        elif t == 'T':
            e.trade(ts, s, owner, d['price'], d['size'], d['trade_id'])
        elif t == 'B':
            e.break_(ts, owner, d['trade_id'], (s.name, d['price'], d['size']))
    return d
