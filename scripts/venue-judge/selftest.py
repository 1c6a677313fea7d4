"""selftest.py - hand-made bytes, mostly the vectors of the specifications, with expectations computed by hand."""
import collections, struct, sys
import capture, iex, itch, pitch, transport
from replay import Replay, midnight
from book import Engine

H = bytes.fromhex
done = 0


def eq(got, want, what):
    global done
    done += 1
    if got != want:
        print('FAILED %s\n  got  %r\n  want %r' % (what, got, want))
        sys.exit(1)


def engine(what='insides', **k):
    rows = []
    rep = transport.Report()
    return Engine(what, rep, rows.append, **k), rows, rep


# --- captures
F = ('4d3cb2a1020004000000000000000000ffff00000100000000f1536515cd5b07'
     '420000004200000001005e360c6f020000000002810000640800450000300007'
     '40001011690d0a010203e9360c6f80e8676d001c1eab30303030303132333441'
     '00000000000000060000')
NG = ('0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c00000001000000'
      '2000000001000000ffff00000900010009000000000000002000000006000000'
      '6400000000000000fe9c971715cd853d420000004200000001005e360c6f0200'
      '00000002810000640800450000300007400010116 90d0a010203e9360c6f80e8'
      '676d001c1eab30303030303132333441000000000000000600000000 64000000').replace(' ', '')
for name, hexs in (('pcap', F), ('pcapng', NG)):
    st = collections.Counter()
    r = list(capture.read_data(H(hexs), st))
    eq(r, [(r[0][0], '10.1.2.3:33000', '233.54.12.111:26477', b'000001234A' + H('00000000000000060000'))], name)
    eq((st['bad_ip_checksum'], st['bad_udp_checksum'], st['udp']), (0, 0, 1), name + ' counts')
    eq(r[0][0], 1700000000123456789, name + ' time')

# --- IEX messages
d = iex.decode(iex.DEEP, H('3801be7f13353ae25d165620202020202020be000000b4f01e0000000000'))
eq((d['type'], d['b1'], d['symbol'], d['size'], d['price']), ('8', 1, 'V', 190, 2027700), 'DEEP 8')
d = iex.decode(iex.DEEP, H('35012ab9d8623ae25d16554e48202020202052000000f882340000000000'))
eq((d['type'], d['symbol'], d['size'], d['price']), ('5', 'UNH', 82, 3441400), 'DEEP 5')
d = iex.decode(iex.DPLS, H('4d00ce8b8436a455fa1749424b5220202020ae00000000006300c8000000841b150000000000'))
eq((d['type'], d['b1'] & 1, d['symbol'], d['order_id'], d['size'], d['price']), ('M', 0, 'IBKR', 0x00630000000000ae, 200, 1383300), 'M')
d = iex.decode(iex.DPLS, H('4c409c378e7c6855fa1749424b52202020200d0000000000630064000000a00e1500000000001800000000006300'))
eq((d['size'], d['price'], d['trade_id'], d['b1']), (100, 1380000, 0x0063000000000018, 0x40), 'L')
d = iex.decode(iex.DPLS, H('4480ec9cc97bba45fa175a4558495420202064000000a08601000000000001'))
eq((d['symbol'], d['round_lot'], d['poc'], d['luld']), ('ZEXIT', 100, 100000, 1), 'D')
d = iex.decode(iex.TOPS16, H('5100ac63c02096866d145a49455854202020e4250000241d0f0000000000ec1d0f0000000000e8030000'))
eq((d['symbol'], d['bid_size'], d['bid_price'], d['ask_price'], d['ask_size']), ('ZIEXT', 9700, 990500, 990700, 1000), 'Q')
eq(iex.decode(iex.DEEP, b'Z' + bytes(20))[0], 'unknown_type', 'unknown')
eq(iex.decode(iex.DEEP, b'8' + bytes(20))[0], 'short_message', 'short')
for v in ('534f653658deb745fa17', '4854338cc97bba45fa175a434d442020202020202020', '4920338cc97bba45fa175a434d4420202020',
          '4f4efc8dc97bba45fa175a435a5a54202020', '5000fc8dc97bba45fa175a435a5a5420202020', '454f307fca1e4e57fa174120202020202020',
          '61351e7711156155fa1749424b52202020200a000000000063006400000008d4140000000000', '52204a97fec26155fa1749424b52202020200a00000000006300',
          '5440ecfd4fba8a55fa1749424b52202020206400000074f41400000000009000000000006300',
          '42002728e4dd2858fa175446432020202020640000007070060000000000ee01000000006300'):
    eq(iex.decode(iex.DPLS, H(v))['tail'], 0, 'length ' + v[:2])

# --- a DEEP event of three messages, crossed in between
lev = lambda t, fl, ts, sym, size, price: struct.pack('<cBq8sIq', t.encode(), fl, ts, sym.encode().ljust(8), size, price)
e, rows, rep = engine()
A = lambda m: iex.apply(e, iex.DEEP, 'deep/1', m)
A(lev('8', 1, 5, 'AB', 100, 1000000))       # row 1
A(lev('5', 1, 6, 'AB', 50, 1000100))        # row 2
A(lev('8', 0, 7, 'AB', 30, 1000200))        # crossed, no event end
A(lev('5', 0, 7, 'AB', 0, 1000100))
A(lev('5', 1, 7, 'AB', 20, 1000300))        # row 3
A(lev('5', 1, 8, 'AB', 0, 999))             # unknown level, event end without a change
A(lev('8', 1, 9, 'AB', 77, 900000))         # not the best: no row
eq(rows, ['5,AB,1000000,100,,\n', '6,AB,1000000,100,1000100,50\n', '7,AB,1000200,30,1000300,20\n'], 'DEEP insides')
s = e.syms['deep', 'AB']
eq((s.st['event_ends'], s.st['crossed'], rep.counts['unknown_level']), (5, 0, 1), 'DEEP counts')
eq(s.depth(), 'B 1000200 30;1000000 100;900000 77|A 1000300 20', 'depth text')

# --- DEEP+ life
e, rows, rep = engine()
A = lambda m: iex.apply(e, iex.DPLS, 'deepplus/1', m)
add = lambda side, ts, oid, size, price: struct.pack('<cBq8sqIq', b'a', ord(side), ts, b'AB      ', oid, size, price)
mod = lambda keep, ts, oid, size, price: struct.pack('<cBq8sqIq', b'M', keep, ts, b'AB      ', oid, size, price)
dele = lambda ts, oid: struct.pack('<cBq8sq', b'R', 0, ts, b'AB      ', oid)
exe = lambda ts, oid, size, price, tid: struct.pack('<cBq8sqIqq', b'L', 0, ts, b'AB      ', oid, size, price, tid)
A(add('8', 1, 1, 100, 500)); A(add('8', 2, 2, 10, 500)); A(add('8', 3, 3, 5, 500))
s = e.syms['deepplus', 'AB']
A(mod(1, 4, 1, 90, 500)); eq(s.queue(), 'B 500 1:90,2:10,3:5|A', 'keep')
A(mod(0, 5, 1, 80, 500)); eq(s.queue(), 'B 500 2:10,3:5,1:80|A', 'reset')
A(mod(1, 6, 2, 10, 499)); A(mod(1, 7, 2, 10, 500)); eq(s.queue(), 'B 500 3:5,1:80,2:10|A', 'price change with keep goes to the tail')
A(mod(1, 8, 3, 0, 500)); eq(s.queue(), 'B 500 1:80,2:10|A', 'size 0')
A(exe(9, 1, 79, 498, 7)); A(exe(10, 1, 5, 500, 8)); eq(s.queue(), 'B 500 2:10|A', 'over execution removes')
A(dele(11, 2)); A(add('5', 12, 2, 4, 600)); eq(s.queue(), 'B|A 600 2:4', 'id used again on the other side')
A(dele(13, 99)); A(struct.pack('<cBq8s', b'C', 0, 14, b'AB      ')); eq(s.queue(), 'B|A', 'clear book')
eq((rep.counts['over_execution'], rep.counts['unknown_order_R'], len(e.orders)), (1, 1, 0), 'DEEP+ misfits')
eq(e.trade_rows, [[9, 'AB', 498, 79, 7, 0], [10, 'AB', 500, 5, 8, 0]], 'DEEP+ trades')
A(struct.pack('<cBq8sIqq', b'B', 0, 15, b'AB      ', 79, 498, 7)); eq(e.trade_rows[0][5], 1, 'broken')

# --- IEX-TP numbering
def seg(first, off, msgs, sent, sess=9, plen=None):
    body = b''.join(struct.pack('<H', len(m)) + m for m in msgs)
    return struct.pack('<BBHIIHHqqq', 1, 0, iex.DEEP, 1, sess, len(body) if plen is None else plen, len(msgs), off, first, sent) + body


def run(pkts):
    rep = transport.Report()
    segs = iex.segments([(0, 's', dst, p) for dst, p in pkts], rep)
    ev = [(x[0], x[2]) if x[0] == 'msg' else x[0:1] + x[2:] for x in transport.merge(segs, 'ideal', rep)]
    return ev, rep.counts


m = b'S' + bytes(9)                          # 12 bytes as a block
ev, c = run([('A', seg(1, 0, [m, m], 10)), ('A', seg(3, 24, [m], 20)), ('A', seg(3, 24, [m], 20)), ('A', seg(6, 60, [m], 30)),
             ('A', seg(7, 72, [], 40))])
eq(ev, [('new', 0), ('msg', 1), ('msg', 2), ('msg', 3), ('gap', 4, 5), ('msg', 6)], 'gap and duplicate')
eq((c['gap'], c['gap_messages'], c['duplicate_packet'], c.get('offset_mismatch', 0), c['heartbeats']), (1, 2, 1, 0, 1), 'counts')
ev, c = run([('A', seg(1, 0, [m, m], 10)), ('A', seg(3, 25, [m], 20)), ('A', seg(4, 37, [m], 30))])
eq((len(ev), c['offset_mismatch']), (5, 1), 'offset mismatch reported once')
ev, c = run([('A', seg(1, 0, [m, m], 10)), ('B', seg(1, 0, [m], 10)), ('A', seg(1, 0, [m], 50)), ('B', seg(2, 12, [m], 11)), ('B', seg(1, 0, [m], 50))])
eq(ev, [('new', 0), ('msg', 1), ('msg', 2), ('new', 1), ('msg', 1)], 'restart at 1')
eq((c['restart_at_1'], c['new_stream'], c['stale_generation_packet']), (2, 1, 1), 'restart counts')
ev, c = run([('A', seg(1, 0, [m], 10)), ('A', seg(3, 24, [m], 12)), ('B', seg(1, 0, [m, m], 11)), ('A', seg(9, 96, [], 15))])
eq(ev, [('new', 0), ('msg', 1), ('msg', 2), ('msg', 3), ('gap', 4, 8)], 'line B fills, heartbeat shows a gap')
ev, c = run([('A', seg(1, 0, [m], 10, plen=99)), ('A', b'\x02' + seg(1, 0, [m], 10)[1:])])
eq((ev, c), ([], {'payload_length_mismatch': 1, 'bad_version': 1}), 'bad headers')
ev, c = run([('A', seg(1, 0, [m], 10)), ('A', seg(1, 0, [m], 20, sess=10))])
eq(ev, [('new', 0), ('msg', 1), ('new', 1), ('msg', 1)], 'new session')

# --- PITCH
T = [('0620fc850000', dict(time=34300)),
     ('2221e0ab00004f5249443030303142187301004141504c20205a2300000000000001', dict(off=44000, side='B', size=95000, symbol='AAPL', price=9050, flags=1)),
     ('1a22e0ab00004f5249443030303142a8614141504c20205f0001', dict(size=25000, price=9500)),
     ('292fe0ab00004f5249443030303142a86100004141504c202020205a23000000000000014d50494443', dict(size=25000, price=9050, mpid='MPID', customer='C')),
     ('1a23d08400004f52494430303032a86100004558494430303031', dict(off=34000, executed=25000)),
     ('2624d08400004f52494430303032a8610000204e000045584549303030315a23000000000000', dict(executed=25000, remaining=20000, price=9050)),
     ('1225d08400004f52494430303032a8610000', dict(canceled=25000)),
     ('1026d08400004f52494430303033a861', dict(canceled=25000)),
     ('1b27d08400004f52494430303032a86100005a2300000000000001', dict(size=25000, price=9050, flags=1)),
     ('1328d08400004f52494430303032a861630001', dict(size=25000, price=9900, flags=1)),
     ('0e29d08400004f52494430303032', dict(order_id=int.from_bytes(b'ORID0002', 'little'))),
     ('1a2248be9a3bf0774f6a2619721f4290014d4154202020120801', dict(symbol='MAT', size=400, price=206600)),
     ('1328480dc81997edcc44b2697c146400e30a01', dict(size=100, price=278700, flags=1))]
for v, w in T:
    d = pitch.decode(H(v))
    eq({k: d[k] for k in w}, w, 'PITCH ' + v)
    eq(d['tail'], 0, 'length')
    eq(H(v)[0], len(H(v)), 'length byte')


def block(unit, seq, msgs):
    b = b''.join(msgs)
    return struct.pack('<HBBI', 8 + len(b), len(msgs), unit, seq) + b


def prun(pkts):
    rep = transport.Report()
    segs = pitch.segments([(0, 's', dst, p) for dst, p in pkts], rep)
    return [(x[0], x[1][5:], x[2]) for x in transport.merge(segs, 'ideal', rep)], rep.counts


t = H('0620fc850000')
ev, c = prun([('A', block(1, 0xfffffffe, [t, t, t])), ('A', block(2, 1, [t])), ('A', block(1, 2, [t])), ('B', block(1, 0xffffffff, [t, t])), ('A', block(1, 4, [t]))])
eq(ev, [('new', '1', 0), ('msg', '1', 4294967294), ('msg', '1', 4294967295), ('msg', '1', 4294967296), ('new', '2', 0),
        ('msg', '2', 1), ('msg', '1', 4294967297), ('gap', '1', 4294967298), ('msg', '1', 4294967299)], 'wrap')
eq((c['gap'], c['duplicate_messages']), (1, 2), 'wrap counts')
end = H('062d00000000')
ev, c = prun([('A', block(1, 1, [t, end])), ('A', block(1, 1, [t]))])
eq(ev, [('new', '1', 0), ('msg', '1', 1), ('msg', '1', 2), ('new', '1', 1), ('msg', '1', 1)], 'new session after 0x2D')

e, rows, rep = engine()
ck = pitch.Clock()
A = lambda m, u='unit/1': pitch.apply(e, ck, u, m)
A(H('0620fc850000'))
A(H(T[2][0]))                                              # B 25000 AAPL 0.95, id ORID0001
A(H(T[2][0]).replace(b'ORID0001', b'ORID0002'))            # another
A(H(T[5][0]))                                              # 0x24: 25000 executed, 20000 remain (old was 25000)
eq(rows, ['34300000044000,AAPL,9500,25000,,\n', '34300000044000,AAPL,9500,50000,,\n', '34300000034000,AAPL,9500,45000,,\n'], 'PITCH insides')
eq(e.trade_rows, [[34300000034000, 'AAPL', 9050, 25000, int.from_bytes(b'EXEI0001', 'little'), 0]], 'trade price of 0x24')
A(H('1a22e0ab00004f5249443030303942a8614242424220205f0001'), 'unit/2')
A(H('069701000000'))                                       # Unit Clear of unit 1
eq(rows[-2:], ['44000,BBBB,9500,25000,,\n', '34300000000001,AAPL,,,,\n'], 'Unit Clear; unit 2 stays, its clock is unset')
eq((len(e.orders), rep.counts['no_time_yet']), (1, 1), 'unit 2')
eq(midnight('2024-07-01') // 10**9, 1719806400, 'midnight EDT')
eq(midnight('2024-01-02') // 10**9, 1704171600, 'midnight EST')

# --- ITCH vectors 12..21: best bid and offer after each, printable volume
V = ['41000d00051f1aced9f3e80102030405060708420000012c4141504c20202020001cfbec',
     '46000d00061f1aced9f7d000000000000003e953000000644141504c20202020001cfde04e534451',
     '45000d00071f1aced9fbb8010203040506070800000064000000000000004d',
     '43000d00081f1aced9ffa0010203040506070800000032000000000000004e4e001cfb88',
     '58000d00091f1aceda0388010203040506070800000032',
     '55000d000a1f1aceda0770010203040506070800000000000003ea000000c8001cfc50',
     '44000d000b1f1aceda0b5800000000000003e9',
     '50000d000c1f1aceda0f40000000000000000042000000194141504c20202020001cfce6000000000000004f',
     '51000d000d1f1aceda1328000000000012d6874141504c20202020001cfbec00000000000000504f',
     '42000d000e1f1aceda1710000000000000004f']
e, rows, rep = engine()
for v in V:
    itch.apply(e, 'itch', H(v))
eq([r.split(',')[2:] for r in rows], [x.split(',') for x in (
    '1899500,300,,\n', '1899500,300,1900000,100\n', '1899500,200,1900000,100\n', '1899500,150,1900000,100\n',
    '1899500,100,1900000,100\n', '1899600,200,1900000,100\n', '1899600,200,,\n')], 'ITCH life')
st = e.syms['itch', 'AAPL'].st
eq(st['volume'] - st['broken_volume'], 1234667, 'printable volume')
rows = []
data = b''.join(struct.pack('>H', len(H(v))) + H(v) for v in V) + b'\0\0'
Replay(data, out=rows.append, what='trades')
eq(rows[1:], ['34200000003000,AAPL,1899500,100,77,0\n', '34200000008000,AAPL,1899750,25,79,1\n', '34200000009000,AAPL,1899500,1234567,80,0\n'], 'ITCH trades')
print('selftest: %d checks passed' % done)
