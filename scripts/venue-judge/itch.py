"""itch.py - TotalView-ITCH 5.0: BinaryFILE day files (u16 BE length + message) and MoldUDP64 captures.

file_segments(data, rep) / mold_segments(packets, rep) -> list of transport.Seg;  decode(bytes);  apply(engine, owner, bytes)
A zero-length record ends a BinaryFILE; bytes after it are reported.  Mold: key is the session; zero-length blocks use a
number and do nothing.
"""
import struct
from transport import Seg

REF = ('order_ref', 11, 'Q')
SY = ('symbol', 11, '8s')
TABLE = {
    'S': (12, [('event', 11, 's')]),
    'R': (39, [SY, ('category', 19, 's'), ('status', 20, 's'), ('lot', 21, 'I')]),
    'H': (25, [SY, ('state', 19, 's'), ('reason', 21, '4s')]),
    'Y': (20, [SY, ('action', 19, 's')]),
    'L': (26, [('mpid', 11, '4s'), ('symbol', 15, '8s')]),
    'V': (35, [('l1', 11, 'Q'), ('l2', 19, 'Q'), ('l3', 27, 'Q')]),
    'W': (12, [('level', 11, 's')]),
    'K': (28, [SY, ('release', 19, 'I'), ('qualifier', 23, 's'), ('price', 24, 'I')]),
    'J': (35, [SY, ('reference', 19, 'I'), ('upper', 23, 'I'), ('lower', 27, 'I'), ('extension', 31, 'I')]),
    'h': (21, [SY, ('market', 19, 's'), ('action', 20, 's')]),
    'A': (36, [REF, ('side', 19, 's'), ('size', 20, 'I'), ('symbol', 24, '8s'), ('price', 32, 'I')]),
    'F': (40, [REF, ('side', 19, 's'), ('size', 20, 'I'), ('symbol', 24, '8s'), ('price', 32, 'I'), ('mpid', 36, '4s')]),
    'E': (31, [REF, ('executed', 19, 'I'), ('match', 23, 'Q')]),
    'C': (36, [REF, ('executed', 19, 'I'), ('match', 23, 'Q'), ('printable', 31, 's'), ('price', 32, 'I')]),
    'X': (23, [REF, ('canceled', 19, 'I')]),
    'D': (19, [REF]),
    'U': (35, [REF, ('new_ref', 19, 'Q'), ('size', 27, 'I'), ('price', 31, 'I')]),
    'P': (44, [REF, ('side', 19, 's'), ('size', 20, 'I'), ('symbol', 24, '8s'), ('price', 32, 'I'), ('match', 36, 'Q')]),
    'Q': (40, [('size', 11, 'Q'), ('symbol', 19, '8s'), ('price', 27, 'I'), ('match', 31, 'Q'), ('cross', 39, 's')]),
    'B': (19, [('match', 11, 'Q')]),
    'I': (50, [('paired', 11, 'Q'), ('imbalance', 19, 'Q'), ('direction', 27, 's'), ('symbol', 28, '8s'), ('far', 36, 'I'),
               ('near', 40, 'I'), ('ref', 44, 'I'), ('cross', 48, 's'), ('variation', 49, 's')]),
    'N': (20, [SY, ('interest', 19, 's')]),
    'O': (48, [SY]),
}


def file_segments(data, rep):
    out, pos, n = [], 0, 0
    while pos + 2 <= len(data):
        l = data[pos] << 8 | data[pos + 1]
        if l == 0:
            rep('end_record', 'at byte %d' % pos)
            pos += 2
            break
        if pos + 2 + l > len(data):
            rep('truncated_record', 'at byte %d' % pos)
            return out
        n += 1
        out.append(Seg('itch', 'file', 0, n, [data[pos + 2:pos + 2 + l]], n, None))
        pos += 2 + l
    if pos < len(data):
        rep('bytes_after_end', '%d' % (len(data) - pos))
    return out


def looks_like_file(data):
    """the first records have the lengths of the table"""
    pos = n = 0
    while pos + 2 < len(data) and n < 50:
        l = data[pos] << 8 | data[pos + 1]
        if l == 0:
            break
        t = chr(data[pos + 2])
        if t in TABLE and TABLE[t][0] != l:
            return False
        pos += 2 + l
        n += 1
    return n > 0


def looks_like_mold(p):
    if len(p) < 20:
        return False
    c = struct.unpack_from('>H', p, 18)[0]
    if c in (0, 0xffff):
        return len(p) == 20
    pos = 20
    for _ in range(c):
        if pos + 2 > len(p):
            return False
        pos += 2 + (p[pos] << 8 | p[pos + 1])
    return pos == len(p)


def mold_segments(packets, rep):
    out, lines = [], {}
    for n, (ts, src, dst, p) in enumerate(packets, 1):
        if not looks_like_mold(p):
            rep('malformed_packet', 'packet %d' % n)
            continue
        session = p[:10].decode('latin-1')
        first, count = struct.unpack_from('>QH', p, 10)
        if count == 0xffff:
            rep('end_of_session', 'packet %d number %d' % (n, first))
            count = 0
        elif count == 0:
            rep('heartbeats')
        msgs, pos = [], 20
        for _ in range(count):
            l = p[pos] << 8 | p[pos + 1]
            msgs.append(p[pos + 2:pos + 2 + l])
            pos += 2 + l
        key = 'mold/' + session
        nxt = lines.get((key, dst))
        if nxt is not None and first > nxt:
            rep('line_gap', '%s line %s packet %d: %d..%d' % (key, dst, n, nxt, first - 1))
        elif nxt is not None and first < nxt:
            rep('line_duplicate_or_late', '%s line %s packet %d: %d, expected %d' % (key, dst, n, first, nxt))
        lines[key, dst] = max(nxt or 0, first + count)
        out.append(Seg(key, dst, 0, first, msgs, n, ts))
    return out


def decode(m):
    t = chr(m[0]) if m else ''
    d = TABLE.get(t)
    if d is None:
        return ('unknown_type' if m else 'empty_message', 'type %r length %d' % (t, len(m)))
    if len(m) < d[0]:
        return ('short_message', 'type %s length %d < %d' % (t, len(m), d[0]))
    r = {'type': t, 'locate': m[1] << 8 | m[2], 'ts': int.from_bytes(m[5:11], 'big'), 'tail': len(m) - d[0]}
    for name, off, f in d[1]:
        v = struct.unpack_from('>' + f, m, off)[0]
        r[name] = v.decode('latin-1').rstrip(' ') if isinstance(v, bytes) else v
    return r


def apply(e, owner, m):
    d = decode(m)
    if isinstance(d, tuple):
        e.misfit(*d)
        e.count('unknown 0x%02x' % m[0] if m and d[0] == 'unknown_type' else d[0])
        return None
    t, ts = d['type'], d['ts']
    e.count(t)
    if d['tail']:
        e.misfit('grown_message', '')
    s = None
    if d.get('symbol'):
        s = e.sym('itch', d['symbol'])
        s.st['messages'] += 1
        if t in 'RAF':
            s.locate = d['locate']
    if t in 'AF':
        side = {'B': 0, 'S': 1}.get(d['side'])
        if side is None:
            e.misfit('bad_side', d['side'])
            return d
        e.before(ts, s)
        if e.add(s, (owner, d['order_ref']), side, d['price'], d['size']):
            e.end(ts, s)
    elif t in 'ECXDU':
        key = (owner, d['order_ref'])
        o = e.find(key, t)
        if o is None:
            return d
        s = o[0]
        d['symbol'] = s.name
        if getattr(s, 'locate', d['locate']) != d['locate']:
            e.misfit('locate_differs', '%s' % (key,))
        s.st['messages'] += 1
        e.before(ts, s)
        if t in 'EC':
            s.st['executions'] += 1
            n = d['executed']
            if not n:
                e.misfit('zero_execution', '%s' % (key,))
            elif t == 'E' or d['printable'] != 'N':
                e.trade(ts, s, owner, o[2] if t == 'E' else d['price'], n, d['match'])
            else:
                e.misfit('not_printable', '')           # legal, not a row of `trades`
            e.reduce(key, n, 'over_execution')
        elif t == 'X':
            s.st['modifies'] += 1
            e.reduce(key, d['canceled'], 'over_cancel')
        elif t == 'D':
            s.st['deletes'] += 1
            e._take(key)
        else:
            s.st['modifies'] += 1
            side = o[1]
            e._take(key)
            nk = (owner, d['new_ref'])
            if nk in e.orders:
                e.misfit('duplicate_order_id', '%s %s' % (s.name, nk))
                if e.dup_add == 'replace':
                    e._take(nk)
            if d['size'] == 0:
                e.misfit('zero_size_replace', '%s' % (nk,))
            elif nk not in e.orders:
                e._put(nk, s, side, d['price'], d['size'])
        e.end(ts, s)
    elif t == 'P':
        e.trade(ts, s, owner, d['price'], d['size'], d['match'])
    elif t == 'Q':
        if d['size']:
            e.trade(ts, s, owner, d['price'], d['size'], d['match'])
        else:
            e.misfit('empty_cross', '')                 # legal, not a row of `trades`
    elif t == 'B':
        s = e.break_(ts, owner, d['match'])
        if s:
            s.st['messages'] += 1
            d['symbol'] = s.name
    return d
