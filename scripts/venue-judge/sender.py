"""sender.py --protocol deep|deepplus|pitch --seed N [--faults a,b,...|all|none] [--messages N] [--symbols N]
             [--container pcap|pcapns|pcapng] [--vlan] -o FILE.pcap[.gz]     (also writes FILE.truth.json)

Random legal markets, written from the specifications alone.  All message types and the rare legal things are always in:
  deep      events of several levels that cross in between, events of different symbols interleaved, levels removed that do
            not exist, updates that change nothing, add and remove in one event, trades and breaks inside events, admin
  deepplus  Clear Book, id reuse after Delete, Modify with/without priority, price change with the keep flag, size 0,
            executions away from the displayed price, several orders executed with one timestamp, breaks, admin
  pitch     two units interleaved with own clocks, long/short/expanded forms, 8-character symbols, 0x24 with remaining other
            than old - executed, Unit Clear in the middle and the same ids added again, id reuse after 0x29, size-0 modify,
            keep flag with and without a price change, breaks, auctions, 0xB1, 10-byte Time, End of Session
--faults, transport:
  ab        the same messages on a second line, packed differently, a little later
  lineloss  packets lost on single lines (3 %; with ab mostly filled by the other line)
  gap       ranges of messages lost on every line
  dup       packets repeated          reorder   neighbouring packets of a line swapped
  restart   deep/deepplus: a second stream from number 1, offset 0, under the same session; pitch: a new session from 1
            after End of Session
  tight     with restart/session: the second stream follows within 50 us and without heartbeats in between, so that with ab
            the second line still shows the end of the old stream when the first line has begun the new one
  session   (deep/deepplus) a second stream under another session number
  wrap      (pitch) numbers start shortly before 4294967295
  late      the capture starts in the middle of the stream
  offset    (deep/deepplus) the byte offset jumps once without a gap in the numbers
  badlen    extra packets whose length field is too large, too small headers, IEX version 2
  noise     ARP, IPv6, TCP, fragments, cut frames, other UDP
  cut       the last record of the file is cut
  messages:
  unknown   unknown message types     grown     messages longer than known
  flagbits  (deep) other bits of the event flags set
  crossed   some events end with a crossed or locked book
  misfit    unknown orders, executions and cancels beyond the size, adds of live ids, breaks of unknown trades, second breaks,
            zero-size adds and executions
The truth file: per stream the messages sent and the numbers missing on all lines; `books` (canonical depth of the last
stream at the end), only when that stream is whole and neither `misfit` nor `cut` is asked for; `trades` ([symbol, price,
size, id, broken], pitch: unit after unit) and for deep `insides` (symbol -> [ts, bid price, bid size, ask price, ask
size]), only when besides no stream lacks a number.
"""
import argparse, gzip, json, random, struct

S_NS = 1000000000
DAY = 1696248000 * S_NS          # 2023-10-02 12:00:00 UTC


# ---------------------------------------------------------------- packets
def ip_sum(b):
    if len(b) % 2:
        b += b'\0'
    s = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


def frame(dst, port, payload, vlan, proto=17, frag=0, sport=4000, cut=0):
    src_ip, dst_ip = bytes([10, 0, 0, 1]), bytes(map(int, dst.split('.')))
    udp = struct.pack('>HHHH', sport, port, 8 + len(payload), 0) + payload
    c = ip_sum(src_ip + dst_ip + struct.pack('>HH', proto, len(udp)) + udp) or 0xffff
    udp = udp[:6] + struct.pack('>H', c) + udp[8:]
    h = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(udp), 7, frag, 16, proto, 0) + src_ip + dst_ip
    h = h[:10] + struct.pack('>H', ip_sum(h)) + h[12:]
    eth = b'\x01\x00\x5e' + bytes([dst_ip[1] & 127]) + dst_ip[2:] + b'\x02\0\0\0\0\1'
    eth += (b'\x81\x00\x00\x64' if vlan else b'') + b'\x08\x00'
    f = eth + h + udp
    if len(f) < 60:
        f += bytes(60 - len(f))          # Ethernet padding
    return f[:len(f) - cut] if cut else f


def write_capture(path, frames, container, cut):
    out = []
    if container == 'pcapng':
        out.append(struct.pack('<IIIHHqI', 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))
        opt = struct.pack('<HHB3xHH', 9, 1, 9, 0, 0)
        out.append(struct.pack('<IIHHI', 1, 20 + len(opt), 1, 0, 0) + opt + struct.pack('<I', 20 + len(opt)))
    else:
        out.append(struct.pack('<IHHIIII', 0xa1b2c3d4 if container == 'pcap' else 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
    for ts, f in frames:
        if container == 'pcapng':
            pad = -len(f) % 4
            l = 32 + len(f) + pad
            out.append(struct.pack('<IIIIIII', 6, l, 0, ts >> 32, ts & 0xffffffff, len(f), len(f)) + f + bytes(pad) + struct.pack('<I', l))
        else:
            frac = ts % S_NS // 1000 if container == 'pcap' else ts % S_NS
            out.append(struct.pack('<IIII', ts // S_NS, frac, len(f), len(f)) + f)
    data = b''.join(out)
    if cut:
        data = data[:-5]
    with open(path, 'wb') as g:
        g.write(gzip.compress(data, 6) if path.endswith('.gz') else data)


# ---------------------------------------------------------------- markets
class Market:
    """common: clock, faults, trades"""

    def __init__(self, rng, faults, symbols):
        self.r, self.f, self.symbols = rng, faults, symbols
        self.t = 0                       # ns since the start
        self.out = []                    # (ts, bytes)
        self.trades = []                 # [symbol, price, size, id, broken], in the order they are sent
        self.unsent = {}                 # id -> trade whose message is made but not sent yet
        self.tid = rng.randrange(1, 1 << 40)
        self.mid = {s: rng.choice([9050, 1000000, 2345600, 35000000, 1999999900, 7400000000]) for s in symbols}

    def tick(self):
        self.t += self.r.choice([0, 37, 1500, 90000, 4000000, 4000000, 150000000])

    def new_tid(self):
        self.tid += self.r.randrange(1, 5)
        return self.tid

    def emit(self, m):
        self.out.append((self.t, m))

    def step_of(self, s):
        return 10 if self.mid[s] < 100000 else 100

    def size(self):
        return self.r.choice([1, 7, 50, 100, 100, 200, 300, 1000, 70000, 4000000])

    def breakable(self):
        l = [t for t in self.trades if not t[4]]
        return self.r.choice(l) if l else None


def p8(s):
    return s.encode().ljust(8)


class Iex(Market):
    def __init__(self, *a):
        super().__init__(*a)
        self.last = dict.fromkeys(self.symbols, 0)

    def now(self, s):
        """own clock of each symbol: never backwards for one symbol, not ordered between symbols"""
        self.last[s] = max(self.last[s], DAY + self.t - self.r.choice([0, 0, 0, 500, 20000]))
        return self.last[s]

    def head(self, t, b1, ts, s):
        return struct.pack('<cBq', t.encode(), b1, ts) + (p8(s) if s is not None else b'')

    def put(self, m):
        if m[:1] == b'T':
            self.trades.append(self.unsent.pop(struct.unpack_from('<q', m, 30)[0]))
        if 'grown' in self.f and self.r.random() < 0.1:
            m += bytes(self.r.randrange(256) for _ in range(self.r.randrange(1, 9)))
        self.emit(m)
        if 'unknown' in self.f and self.r.random() < 0.03:
            s = self.r.choice(self.symbols)
            self.emit(self.head(self.r.choice('zWk'), 1, DAY + self.t, s) + bytes(self.r.randrange(0, 40)))

    def admin(self, s, deep):
        r, ts = self.r, self.now(s)
        k = r.choice('SDHIOPE' + ('XA' if deep else ''))
        if k == 'S':
            return self.head('S', ord(r.choice('SRM')), DAY + self.t, None)
        b1 = {'D': r.choice([0, 0x80, 0x40, 0x20]), 'H': ord(r.choice('HOPT')), 'I': ord(r.choice(' ABC')), 'O': ord(r.choice('ON')),
              'P': r.choice([0, 1]), 'E': ord(r.choice('OC')), 'X': ord(r.choice('QM')), 'A': ord(r.choice('OCIHV'))}[k]
        m = self.head(k, b1, ts, s)
        mid = self.mid[s]
        if k == 'D':
            m += struct.pack('<IqB', 100, mid, r.choice([0, 1, 2]))
        elif k == 'H':
            m += r.choice([b'    ', b'T1  ', b'IPO1', b'MCB3', b'NA  '])
        elif k == 'P':
            m += r.choice([b' ', b'A', b'C', b'D', b'N'])
        elif k == 'X':
            m += struct.pack('<q', mid)
        elif k == 'A':
            m += struct.pack('<IqqIcBIqqqq', 100, mid, mid, 50, r.choice([b'B', b'S', b'N']), 0, DAY // S_NS, mid, mid, mid - 500, mid + 500)
        return m

    def print_(self, t, s, ts, size, price, tid):
        return self.head(t, self.r.choice([0, 0x20, 0x40, 0x80, 0x08, 0x10]), ts, s) + struct.pack('<Iqq', size, price, tid)

    def trade(self, s, ts, size, price):
        tid = self.new_tid()
        self.unsent[tid] = [s, price, size, tid, 0]
        return self.print_('T', s, ts, size, price, tid)

    def broken(self):
        t = self.breakable()
        if not t:
            return None
        t[4] = 1
        return self.print_('B', t[0], self.now(t[0]), t[2], t[1], t[3])

    def start(self):
        self.put(self.head('S', ord('O'), DAY + self.t, None))
        for s in self.symbols:
            self.put(self.head('D', 0, self.now(s), s) + struct.pack('<IqB', 100, self.mid[s], 1))


class Deep(Iex):
    def __init__(self, *a):
        super().__init__(*a)
        self.b = {s: ({}, {}) for s in self.symbols}
        self.ends = {s: [] for s in self.symbols}        # symbol -> [[ts, bid, size, ask, size]] at event ends, changes only

    def lev(self, s, side, ts, size, price, end):
        fl = 1 if end else 0
        if 'flagbits' in self.f:
            fl |= self.r.choice([0, 2, 0x80, 0xfe])
        d = self.b[s][side]
        if size:
            d[price] = size
        else:
            d.pop(price, None)
        if end:
            b, a = self.b[s]
            bp, ap = max(b, default=None), min(a, default=None)
            now = [bp, b.get(bp), ap, a.get(ap)]
            was = self.ends[s][-1][1:] if self.ends[s] else [None] * 4
            if now != was:
                self.ends[s].append([ts] + now)
        return self.head('85'[side], fl, ts, s) + struct.pack('<Iq', size, price)

    def event(self, s):
        r, ts, st = self.r, self.now(s), self.step_of(s)
        bids, asks = self.b[s]
        bb = max(bids) if bids else None
        ba = min(asks) if asks else None
        side = r.randrange(2)
        own = self.b[s][side]
        L = lambda *a: self.lev(s, *a)
        k = r.random()
        if r.random() < 0.1:
            self.mid[s] = max(50 * st, self.mid[s] + st * r.randrange(-4, 5))
        mid = self.mid[s]
        free = (lambda p: (ba is None or p < ba) if side == 0 else (bb is None or p > bb))
        price = mid + (-1 if side == 0 else 1) * st * r.randrange(1, 12)
        if price <= 0:
            price = st
        if 'crossed' in self.f and k < 0.03 and bb and ba:
            return [L(0, ts, self.size(), ba + r.choice([0, st]), True)]
        if bb and ba and bb >= ba:                  # uncross again
            return [L(0, ts, 0, p, p == min(x for x in bids if x >= ba)) for p in sorted((x for x in bids if x >= ba), reverse=True)]
        if k < 0.50 and free(price):
            return [L(side, ts, self.size(), price, True)]
        if k < 0.60 and own:
            return [L(side, ts, 0, r.choice(list(own)), True)]
        if k < 0.63:
            dust = 1 if price < 2000000000 else 10  # a step of a book
            q = price + dust
            while q in own:
                q += dust
            return [L(side, ts, 0, q, True)]                                    # a level that does not exist
        if k < 0.66 and own:
            q = r.choice(list(own))
            return [L(side, ts, own[q], q, True)]                               # changes nothing
        if k < 0.69 and free(price) and price not in own:
            return [L(side, ts, self.size(), price, False), L(side, ts, 0, price, True)]
        if k < 0.84 and bb and ba:                                              # sweep: the incoming side takes levels
            taken = self.b[s][1 - side]
            best = sorted(taken, reverse=(side == 1))[:r.randrange(1, 4)]
            ms = []
            rest = r.random() < 0.5
            if rest:                                                            # the remainder shows first: crossed
                ms.append(L(side, ts, self.size(), best[-1], False))
            for i, q in enumerate(best):
                part = not rest and i == len(best) - 1 and taken[q] > 1 and r.random() < 0.5
                n = taken[q] // 2 if part else taken[q]
                if r.random() < 0.8:
                    ms.append(self.trade(s, ts, n, q))
                ms.append(L(1 - side, ts, taken[q] - n, q, i == len(best) - 1))
            if r.random() < 0.3:
                x = self.broken()
                if x:
                    ms.insert(r.randrange(len(ms)), x)
            return ms
        if k < 0.90:                                                            # several levels, both sides
            ms = []
            base = min(ba - st if ba else mid - st, mid - st)
            if base > 8 * st:
                for _ in range(r.randrange(1, 4)):
                    ms.append(L(0, ts, r.choice([0, self.size()]), base - st * r.randrange(6), False))
                top = max((max(bids) if bids else 0) + st, mid + st)
                ms.append(L(1, ts, self.size(), top + st * r.randrange(6), True))
            return ms
        if k < 0.93:
            return [self.trade(s, ts, self.size(), mid)]
        if k < 0.95:
            x = self.broken()
            return [x] if x else []
        return [self.admin(s, True)]

    def run(self, n):
        self.start()
        open_ = {}
        while len(self.out) < n:
            self.tick()
            if len(open_) < 3:
                s = self.r.choice(self.symbols)
                if s not in open_:
                    ms = self.event(s)
                    if ms:
                        open_[s] = ms
            if open_ and self.r.random() < 0.9:
                s = self.r.choice(list(open_))
                self.put(open_[s].pop(0))
                if not open_[s]:
                    del open_[s]
            if 'misfit' in self.f and self.r.random() < 0.01:
                s = self.r.choice(self.symbols)
                self.put(self.print_('B', s, self.now(s), 5, 5, self.new_tid()))
        for s in open_:
            for m in open_[s]:
                self.put(m)
        for s in self.symbols[:2]:                          # the close: remaining levels are removed
            self.put(self.head('E', ord('C'), self.now(s), s))
            ts = self.now(s)
            l = [(0, p) for p in self.b[s][0]] + [(1, p) for p in self.b[s][1]]
            for i, (side, p) in enumerate(l):
                self.put(self.lev(s, side, ts, 0, p, i == len(l) - 1))
        self.put(self.head('S', ord('C'), DAY + self.t, None))

    def books(self):
        return {s: depth(*self.b[s]) for s in self.symbols}


def depth(b, a):
    l = ';'.join('%d %d' % (p, b[p]) for p in sorted(b, reverse=True))
    r = ';'.join('%d %d' % (p, a[p]) for p in sorted(a))
    return 'B' + (' ' + l if l else '') + '|A' + (' ' + r if r else '')


class Orders:
    """live orders: id -> [symbol, side, price, size], kept in priority by the list `seq`"""

    def init_orders(self):
        self.o, self.reuse = {}, []
        self.oid = self.r.randrange(1, 1 << 30)

    def side_orders(self, s, side):
        l = [(v[2] if side else -v[2], i, k) for i, (k, v) in enumerate(self.o.items()) if v[0] == s and v[1] == side]
        return [k for _, _, k in sorted(l)]

    def best(self, s, side):
        l = [v[2] for v in self.o.values() if v[0] == s and v[1] == side]
        return (min(l) if side else max(l)) if l else None

    def new_id(self):
        if self.reuse and self.r.random() < 0.3:
            return self.reuse.pop(self.r.randrange(len(self.reuse)))
        self.oid += self.r.randrange(1, 9)
        return self.oid

    def passive(self, s, side):
        """a price that does not cross"""
        st, mid = self.step_of(s), self.mid[s]
        p = mid + (1 if side else -1) * st * self.r.randrange(1, 10)
        o = self.best(s, 1 - side)
        if o is not None:
            p = max(p, o + st) if side else min(p, o - st)
        return max(p, st) if side else p

    def drift(self, s):
        if self.r.random() < 0.1:
            st = self.step_of(s)
            self.mid[s] = max(60 * st, self.mid[s] + st * self.r.randrange(-5, 6))

    def book(self, s):
        d = ({}, {})
        for v in self.o.values():
            if v[0] == s:
                d[v[1]][v[2]] = d[v[1]].get(v[2], 0) + v[3]
        return depth(*d)

    def books(self):
        return {s: self.book(s) for s in self.symbols}


class Dpls(Orders, Iex):
    def __init__(self, *a):
        super().__init__(*a)
        self.init_orders()
        self.oid |= 99 << 48

    def add(self, s, ts, side, size, price, oid=None):
        oid = oid or self.new_id()
        self.o[oid] = [s, side, price, size]
        self.put(self.head('a', b'85'[side], ts, s) + struct.pack('<qIq', oid, size, price))

    def L(self, ts, oid, n, price=None):
        s, side, p, size = self.o[oid]
        price = p if price is None else price
        tid = self.new_tid()
        self.trades.append([s, price, n, tid, 0])
        self.put(self.head('L', self.r.choice([0, 0x40, 0x80]), ts, s) + struct.pack('<qIqq', oid, n, price, tid))
        if n >= size:
            del self.o[oid]
        else:
            self.o[oid][3] -= n

    def run(self, n):
        r = self.r
        self.start()
        while len(self.out) < n:
            self.tick()
            s = r.choice(self.symbols)
            self.drift(s)
            ts, side, k = self.now(s), r.randrange(2), r.random()
            st = self.step_of(s)
            mine = [i for i, v in self.o.items() if v[0] == s]
            if k < 0.40 or not mine:
                p = self.passive(s, side)
                if p > 0:
                    self.add(s, ts, side, self.size(), p)
            elif k < 0.55:                                          # aggressive order
                left = self.size()
                for oid in self.side_orders(s, 1 - side)[:r.randrange(1, 5)]:
                    n_ = min(left, self.o[oid][3])
                    p = self.o[oid][2]
                    last = p
                    self.L(ts, oid, n_, p if r.random() < 0.8 else p + (-50 if side == 0 else 50))
                    left -= n_
                    if not left:
                        break
                else:
                    p = self.passive(s, side)
                    if left and p > 0 and r.random() < 0.5:
                        self.add(s, ts, side, left, p)
            elif k < 0.70:
                oid = r.choice(mine)
                _, sd, p, size = v = self.o[oid]
                kind = r.choice(['keep', 'reset', 'price', 'price_keep', 'zero', 'same'])
                fl = 1 if kind in ('keep', 'price_keep') else 0
                np, ns = p, max(1, size + r.choice([-size // 2, -1, 0, 10]))
                if kind.startswith('price'):
                    np = self.passive(s, sd)
                    if np <= 0:
                        np = p
                if kind == 'zero':
                    ns, fl = 0, r.randrange(2)
                if kind == 'same':
                    ns, fl = size, r.randrange(2)
                self.put(self.head('M', fl, ts, s) + struct.pack('<qIq', oid, ns, np))
                if ns == 0:
                    del self.o[oid]
                elif fl and np == p:
                    v[3] = ns
                else:
                    del self.o[oid]
                    self.o[oid] = [s, sd, np, ns]
            elif k < 0.85:
                oid = r.choice(mine)
                self.put(self.head('R', 0, ts, s) + struct.pack('<q', oid))
                del self.o[oid]
                self.reuse.append(oid)
            elif k < 0.89:
                self.put(self.trade(s, ts, self.size(), self.mid[s]))
            elif k < 0.92:
                x = self.broken()
                if x:
                    self.put(x)
            elif k < 0.93:
                self.put(self.head('C', 0, ts, s))
                for i in mine:
                    del self.o[i]
            else:
                self.put(self.admin(s, False))
            if 'crossed' in self.f and r.random() < 0.02:
                b = self.best(s, 1)
                if b:
                    self.add(s, ts, 0, 100, b + r.choice([0, st]))
            if 'misfit' in self.f and r.random() < 0.03:
                self.misfit(s, ts)
        self.put(self.head('S', ord('C'), DAY + self.t, None))

    def misfit(self, s, ts):
        r, bad = self.r, self.oid + 1000000
        mine = [i for i, v in self.o.items() if v[0] == s]
        k = r.choice(['M', 'R', 'L', 'over', 'dup', 'B', 'BB', 'zero', 'zexec'])
        if k == 'M':
            self.put(self.head('M', 1, ts, s) + struct.pack('<qIq', bad, 5, 500))
        elif k == 'R':
            self.put(self.head('R', 0, ts, s) + struct.pack('<q', bad))
        elif k == 'L':
            self.put(self.head('L', 0, ts, s) + struct.pack('<qIqq', bad, 5, 500, self.new_tid()))
        elif k == 'B':
            self.put(self.print_('B', s, ts, 5, 5, self.new_tid()))
        elif k == 'BB':
            l = [t for t in self.trades if t[4]]
            if l:
                t = r.choice(l)
                self.put(self.print_('B', t[0], self.now(t[0]), t[2], t[1], t[3]))
        elif k == 'zero':
            self.put(self.head('a', 0x38, ts, s) + struct.pack('<qIq', bad + 1, 0, 500))
        elif mine:
            oid = r.choice(mine)
            _, sd, p, size = self.o[oid]
            if k == 'over':
                self.L(ts, oid, size + 5)
            elif k == 'dup':
                self.put(self.head('a', b'85'[sd], ts, s) + struct.pack('<qIq', oid, 42, p))
                del self.o[oid]
                self.o[oid] = [s, sd, p, 42]
            else:
                self.put(self.head('L', 0, ts, s) + struct.pack('<qIqq', oid, 0, p, self.new_tid()))


class Pitch(Orders, Market):
    """one unit; times are seconds since midnight from 34200 (09:30)"""

    def __init__(self, *a):
        super().__init__(*a)
        self.init_orders()
        self.sec = None
        self.t = 34200 * S_NS + self.r.randrange(40000 if 'tight' in self.f else S_NS)

    def put(self, typ, body):
        sec, off = divmod(self.t, S_NS)
        if sec != self.sec:
            self.sec = sec
            b = struct.pack('<I', sec)
            if self.r.random() < 0.2:
                b += struct.pack('<I', DAY // S_NS - 28800 + sec)      # the 10-byte form
            self.emit(bytes([len(b) + 2, 0x20]) + b)
        m = struct.pack('<I', off) + body
        if 'grown' in self.f and self.r.random() < 0.1:
            m += bytes(self.r.randrange(256) for _ in range(self.r.randrange(1, 9)))
        self.emit(bytes([len(m) + 2, typ]) + m)
        if 'unknown' in self.f and self.r.random() < 0.03:
            b = bytes(self.r.randrange(0, 30))
            self.emit(bytes([len(b) + 2, self.r.choice([0xBC, 0xBD, 0xD1, 0xAD, 0x5A, 0xFE])]) + b)
        if self.r.random() < 0.01:
            self.emit(bytes([18, 0xB1]) + struct.pack('<IIII', DAY // S_NS - 28800, sec, off, 20231002))

    def short_ok(self, size, price, s=''):
        return size <= 65535 and price <= 6553500 and price % 100 == 0 and len(s) <= 6 and self.r.random() < 0.7

    def long_ok(self, s):
        return len(s) <= 6 and self.r.random() < 0.8

    def add(self, s, side, size, price, oid=None):
        oid = oid or self.new_id()
        self.o[oid] = [s, side, price, size]
        self.add_raw(s, side, size, price, oid)

    def add_raw(self, s, side, size, price, oid):
        sb = b'BS'[side:side + 1]
        if self.short_ok(size, price, s):
            self.put(0x22, struct.pack('<QcH6sHB', oid, sb, size, s.encode().ljust(6), price // 100, 1))
        elif self.long_ok(s):
            self.put(0x21, struct.pack('<QcI6sQB', oid, sb, size, s.encode().ljust(6), price, 1))
        else:
            self.put(0x2F, struct.pack('<QcI8sQB4sc', oid, sb, size, p8(s), price, 1, self.r.choice([b'    ', b'MPID', b'RTAL']),
                                       self.r.choice([b'N', b'C', b'R'])))

    def print_(self, s, size, price):
        tid = self.new_tid()
        self.trades.append([s, price, size, tid, 0])
        oid = self.r.randrange(1 << 60)
        if self.short_ok(size, price, s):
            self.put(0x2B, struct.pack('<QcH6sHQ', oid, b'B', size, s.encode().ljust(6), price // 100, tid))
        elif self.long_ok(s):
            self.put(0x2A, struct.pack('<QcI6sQQ', oid, b'B', size, s.encode().ljust(6), price, tid))
        else:
            self.put(0x30, struct.pack('<QcI8sQQ', oid, b'B', size, p8(s), price, tid))

    def execute(self, oid, n):
        s, side, p, size = self.o[oid]
        tid = self.new_tid()
        if self.r.random() < 0.7:
            self.trades.append([s, p, n, tid, 0])
            self.put(0x23, struct.pack('<QIQ', oid, n, tid))
            left = max(0, size - n)
        else:
            left = self.r.choice([max(0, size - n), 0, max(0, size - n) // 2, size, size + 11])
            q = p + self.r.choice([0, 50, -50])
            self.trades.append([s, q, n, tid, 0])
            self.put(0x24, struct.pack('<QIIQQ', oid, n, left, tid, q))
        if left:
            self.o[oid][3] = left
        else:
            del self.o[oid]

    def modify(self, oid, ns, np, fl):
        if self.short_ok(ns, np):
            self.put(0x28, struct.pack('<QHHB', oid, ns, np // 100, fl))
        else:
            self.put(0x27, struct.pack('<QIQB', oid, ns, np, fl))

    def reduce(self, oid, n):
        if n <= 65535 and self.r.random() < 0.6:
            self.put(0x26, struct.pack('<QH', oid, n))
        else:
            self.put(0x25, struct.pack('<QI', oid, n))

    def run(self, n):
        r = self.r
        self.put(0x97, b'')
        for s in self.symbols:
            self.put(0x31, p8(s) + b'T0  ')
        clears = {n // 2}
        while len(self.out) < n:
            self.tick()
            s = r.choice(self.symbols)
            self.drift(s)
            side, k = r.randrange(2), r.random()
            mine = [i for i, v in self.o.items() if v[0] == s]
            if clears and len(self.out) > min(clears):
                clears.clear()
                old = dict(self.o)
                self.put(0x97, b'')
                self.o.clear()
                for i, v in old.items():                    # the open orders come again under their ids
                    if r.random() < 0.5:
                        self.add(v[0], v[1], v[3], v[2], i)
            elif k < 0.42 or not mine:
                p = self.passive(s, side)
                if p > 0:
                    self.add(s, side, self.size(), p)
            elif k < 0.56:
                left = self.size()
                for oid in self.side_orders(s, 1 - side)[:r.randrange(1, 5)]:
                    n_ = min(left, self.o[oid][3])
                    self.execute(oid, n_)
                    left -= n_
                    if not left:
                        break
            elif k < 0.62:
                oid = r.choice(mine)
                size = self.o[oid][3]
                if size > 1 or r.random() < 0.1:
                    c = r.randrange(1, size) if size > 1 and r.random() < 0.95 else size
                    self.reduce(oid, c)
                    if c == size:
                        del self.o[oid]
                    else:
                        self.o[oid][3] -= c
            elif k < 0.74:
                oid = r.choice(mine)
                _, sd, p, size = v = self.o[oid]
                kind = r.choice(['keep', 'reset', 'price', 'price_keep', 'zero', 'same'])
                fl = 1 | (2 if kind in ('keep', 'price_keep') else 0)
                np, ns = p, max(1, size + r.choice([-size // 2, -1, 0, 10]))
                if kind.startswith('price'):
                    np = self.passive(s, sd)
                    if np <= 0:
                        np = p
                if kind == 'zero':
                    ns, fl = 0, r.randrange(4)
                if kind == 'same':
                    ns, fl = size, r.randrange(4)
                self.modify(oid, ns, np, fl)
                if ns == 0:
                    del self.o[oid]
                elif fl & 2 and np == p:
                    v[3] = ns
                else:
                    del self.o[oid]
                    self.o[oid] = [s, sd, np, ns]
            elif k < 0.88:
                oid = r.choice(mine)
                self.put(0x29, struct.pack('<Q', oid))
                del self.o[oid]
                self.reuse.append(oid)
            elif k < 0.92:
                self.print_(s, self.size(), self.mid[s])
            elif k < 0.95:
                t = self.breakable()
                if t:
                    t[4] = 1
                    self.put(0x2C, struct.pack('<Q', t[3]))
            else:
                m = self.mid[s]
                j = r.choice([0x31, 0x95, 0x96, 0x98])
                self.put(j, p8(s) + {0x31: b'H1  ', 0x95: b'C' + struct.pack('<QIIQQ', m, 10, 20, m, m),
                                     0x96: b'O' + struct.pack('<QI', m, 500), 0x98: b'A'}[j])
            if 'crossed' in self.f and r.random() < 0.02:
                b = self.best(s, 1)
                if b:
                    self.add(s, 0, 100, b + r.choice([0, self.step_of(s)]))
            if 'misfit' in self.f and r.random() < 0.03:
                self.misfit(s)
        self.put(0x2D, b'')

    def misfit(self, s):
        r, bad = self.r, self.oid + 1000000
        mine = [i for i, v in self.o.items() if v[0] == s]
        k = r.choice(['23', '24', '25', '26', '27', '28', '29', 'over', 'cancel', 'dup', 'B', 'BB', 'zero', 'zexec'])
        if k == '23':
            self.put(0x23, struct.pack('<QIQ', bad, 5, self.new_tid()))
        elif k == '24':
            self.put(0x24, struct.pack('<QIIQQ', bad, 5, 5, self.new_tid(), 500))
        elif k == '25':
            self.put(0x25, struct.pack('<QI', bad, 5))
        elif k == '26':
            self.put(0x26, struct.pack('<QH', bad, 5))
        elif k == '27':
            self.put(0x27, struct.pack('<QIQB', bad, 5, 500, 3))
        elif k == '28':
            self.put(0x28, struct.pack('<QHHB', bad, 5, 500, 3))
        elif k == '29':
            self.put(0x29, struct.pack('<Q', bad))
        elif k == 'B':
            self.put(0x2C, struct.pack('<Q', self.new_tid()))
        elif k == 'BB':
            l = [t for t in self.trades if t[4]]
            if l:
                self.put(0x2C, struct.pack('<Q', r.choice(l)[3]))
        elif k == 'zero':
            self.add_raw(s, 0, 0, 500, bad + 1)
        elif mine:
            oid = r.choice(mine)
            _, sd, p, size = self.o[oid]
            if k == 'over':
                tid = self.new_tid()
                self.trades.append([s, p, size + 5, tid, 0])
                self.put(0x23, struct.pack('<QIQ', oid, size + 5, tid))
                del self.o[oid]
            elif k == 'cancel':
                self.put(0x25, struct.pack('<QI', oid, size + 5))
                del self.o[oid]
            elif k == 'dup':
                self.add_raw(s, sd, 42, p, oid)
                del self.o[oid]
                self.o[oid] = [s, sd, p, 42]
            else:
                self.put(0x23, struct.pack('<QIQ', oid, 0, self.new_tid()))


# ---------------------------------------------------------------- transport
def packs(r, msgs, limit, maxn):
    """slices of the message list for one line: (first index, last index + 1)"""
    i = 0
    while i < len(msgs):
        n = r.choice([1, 1, 1, 2, 3, 5, maxn])
        j, b = i, 0
        while j < len(msgs) and j - i < n and b + len(msgs[j][1]) + 2 <= limit and msgs[j][0] - msgs[i][0] < 1000000:
            b += len(msgs[j][1]) + 2
            j += 1
        yield i, j
        i = j


def lost_ranges(r, n, f):
    if 'gap' not in f:
        return set()
    out = set()
    for _ in range(max(1, n // 400)):
        a = r.randrange(60, n - 60)              # the first and last packets stay: they decide where a stream begins
        out.update(range(a, a + r.choice([1, 2, 10, 40])))
    return out


class Sender:
    def __init__(self, o, f):
        self.o, self.f, self.r = o, f, random.Random(o.seed)
        self.frames = []                 # (capture ts, order, frame)
        self.truth = {'protocol': o.protocol, 'seed': o.seed, 'faults': sorted(f), 'streams': []}
        self.n = 0
        self.floor = {}                  # (line, stream) -> nothing earlier is sent there
        self.first_streams = 2 if o.protocol == 'pitch' else 1      # streams that may be joined late
        self.lines = [('233.215.21.4', 10378)] + ([('233.215.21.132', 10379)] if 'ab' in f else [])

    def put(self, ts, line, payload, **k):
        self.n += 1
        self.frames.append((ts, self.n, frame(line[0], line[1], payload, self.o.vlan, **k)))

    def stream(self, name, msgs, build, base_ts, beats):
        """one numbered stream on all lines.  build(first index, [messages], heartbeat ts|None, send ts) -> payload"""
        r, f = self.r, self.f
        lost = lost_ranges(r, len(msgs), f)
        start = r.randrange(1, len(msgs) // 2) if 'late' in f and len(self.truth['streams']) < self.first_streams else 0
        have = set()
        for li, line in enumerate(self.lines):
            sent = []
            prev = None
            floor = self.floor.get((line, name.split()[0] if name[0] == 's' else name), 0)
            for i, j in packs(r, msgs, 1300, 40):
                ts = base_ts + msgs[j - 1][0] + 2000 + (r.randrange(20000, 400000) if li else 0)
                ts = max(ts, floor)
                if prev is not None:
                    ts = max(ts, prev + 1000)
                    h = prev + S_NS                       # heartbeats after a second of silence
                    while beats and h < ts - 1000:
                        sent.append((h, i, i))
                        h += S_NS
                prev = ts
                sent.append((ts, i, j))
            self.floor[line, name.split()[0] if name[0] == 's' else name] = prev + 1000
            if 'tight' not in f:
                sent.append((prev + S_NS, len(msgs), len(msgs)))
            if 'reorder' in f:
                for x in range(4, len(sent) - 3):
                    if r.random() < 0.02:
                        a, b = sent[x - 1], sent[x]
                        sent[x - 1], sent[x] = (a[0],) + b[1:] + (b[0],), (b[0],) + a[1:] + (a[0],)
            if li == 0 and start:
                start = min(i for _, i, *_ in sent if i >= start)
            for x, e in enumerate(sent):
                cap, i, j = e[:3]
                safe = x < 3 or x >= len(sent) - 3
                st = e[3] if len(e) > 3 else cap
                if i < start and j > i or j <= start and i == j and start:
                    continue
                if j > i and any(q in lost for q in range(i, j)):
                    continue
                if 'lineloss' in f and j > i and not safe and i > start + 40 and r.random() < 0.03:
                    continue
                p = build(i, [m for _, m in msgs[i:j]], st - 1500)
                have.update(range(i, j))
                self.put(cap, line, p)
                if 'dup' in f and r.random() < 0.03:
                    self.put(cap + r.choice([0, 100] if 'tight' in f else [0, 100, 3000000]), line, p)
                if 'badlen' in f and r.random() < 0.01 and j > i:
                    self.put(cap, line, self.broken(p))
        miss, q = [], min(have) if len(self.truth['streams']) < self.first_streams else 0
        while q < len(msgs):
            if q not in have:
                e = q
                while e < len(msgs) and e not in have:
                    e += 1
                miss.append([q + 1, e])
                q = e
            q += 1
        self.truth['streams'].append({'name': name, 'sent': len(msgs), 'delivered': len(have), 'first': min(have) + 1, 'missing': miss})
        return not miss and not start          # whole

    def broken(self, p):
        k = self.r.randrange(3)
        if k == 0:
            return p[:self.r.randrange(0, 8)]
        if self.o.protocol == 'pitch':
            return struct.pack('<H', len(p) + 5) + p[2:]
        if k == 1:
            return p[:12] + struct.pack('<H', len(p) - 40 + 9) + p[14:]
        return b'\x02' + p[1:]

    def noise(self):
        r = self.r
        if not self.frames:
            return
        lo, hi = self.frames[0][0], max(x[0] for x in self.frames)
        L = self.lines[0]
        for _ in range(20):
            ts = r.randrange(lo, hi + 1)
            k = r.randrange(6)
            self.n += 1
            if k == 0:
                fr = b'\xff' * 6 + b'\2\0\0\0\0\1' + b'\x08\x06' + bytes(46)
            elif k == 1:
                fr = b'\xff' * 6 + b'\2\0\0\0\0\1' + b'\x86\xdd' + bytes(60)
            elif k == 2:
                fr = frame(L[0], L[1], b'x' * 30, False, proto=6)
            elif k == 3:
                fr = frame(L[0], L[1], b'x' * 64, False, frag=0x2000)
            elif k == 4:
                fr = frame(L[0], L[1], b'x' * 64, False, cut=10)
            else:
                fr = b'\xff' * 6 + b'\2\0\0\0\0\1' + b'\x00\x40' + bytes(50)
            self.frames.append((ts, self.n, fr))

    def finish(self, markets, whole):
        if 'noise' in self.f:
            self.noise()
        self.frames.sort(key=lambda x: (x[0], x[1]))
        write_capture(self.o.o, [(t, fr) for t, _, fr in self.frames], self.o.container, 'cut' in self.f)
        t = self.truth
        t['frames'] = len(self.frames)
        if whole and not self.f & {'misfit', 'cut'}:
            t['books'] = {}
            for m in markets[-1]:
                t['books'].update(m.books())
            if any(x['missing'] for x in t['streams']):
                pass                         # an earlier stream is not whole: no trades, no insides
            elif self.o.protocol == 'deep':
                t['insides'] = {n: sum((m.ends[n] for ms in markets for m in ms), []) for n in markets[-1][0].symbols}
            if not any(x['missing'] for x in t['streams']):
                t['trades'] = [x for ms in markets for m in ms for x in m.trades]
        name = self.o.o[:-3] if self.o.o.endswith('.gz') else self.o.o
        with open(name + '.truth.json', 'w') as g:
            json.dump(t, g, indent=1)


NAMES = ['A', 'IBM', 'AAPL', 'ZVZZT', 'GOOG.L', 'ABCD.PRA', 'BRKAB.WS', 'X+', 'QQQ', 'TESTTICK']


def main(argv=None):
    a = argparse.ArgumentParser(usage=__doc__.replace('%', '%%'))
    a.add_argument('--protocol', required=True, choices=['deep', 'deepplus', 'pitch'])
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--faults', default='none')
    a.add_argument('--messages', type=int, default=3000)
    a.add_argument('--symbols', type=int, default=8)
    a.add_argument('--container', default='pcapns', choices=['pcap', 'pcapns', 'pcapng'])
    a.add_argument('--vlan', action='store_true')
    a.add_argument('-o', required=True)
    o = a.parse_args(argv)
    known = {'ab', 'lineloss', 'gap', 'dup', 'reorder', 'restart', 'session', 'tight', 'wrap', 'late', 'offset', 'badlen', 'noise', 'cut',
             'unknown', 'grown', 'flagbits', 'crossed', 'misfit'}
    f = set() if o.faults == 'none' else (known - {'late', 'cut', 'tight'}) if o.faults == 'all' else set(o.faults.split(','))
    if f - known:
        raise SystemExit('unknown faults: %s' % sorted(f - known))
    s = Sender(o, f)
    r = s.r
    syms = (NAMES * 20)[:o.symbols] if o.symbols <= len(NAMES) else NAMES + ['S%d' % i for i in range(o.symbols - len(NAMES))]
    markets, whole = [], True
    if o.protocol != 'pitch':
        cls = Deep if o.protocol == 'deep' else Dpls
        proto = 0x8004 if o.protocol == 'deep' else 0x8005
        sess = r.randrange(1, 1 << 31)
        plan = [sess] + ([sess] if 'restart' in f else []) + ([sess + 1] if 'session' in f else [])
        later = 0
        for sid in plan:
            m = cls(r, f, syms)
            m.t = later
            m.run(o.messages)
            markets.append([m])
            offs, x = [], 0
            jump = r.randrange(len(m.out)) if 'offset' in f else None
            for i, (_, b) in enumerate(m.out):
                if i == jump:
                    x += 7
                offs.append(x)
                x += 2 + len(b)
            offs.append(x)

            def build(i, ms, st):
                body = b''.join(struct.pack('<H', len(b)) + b for b in ms)
                return struct.pack('<BBHIIHHqqq', 1, 0, proto, 1, sid, len(body), len(ms), offs[i], i + 1, st) + body
            if jump:                      # a packet must not span the jump
                saved, cutat = s.stream, jump
                global packs
                old = packs

                def packs_cut(r_, msgs, limit, maxn, old=old, cutat=cutat):
                    for i, j in old(r_, msgs, limit, maxn):
                        if i < cutat < j:
                            yield i, cutat
                            yield cutat, j
                        else:
                            yield i, j
                packs = packs_cut
                whole = s.stream('session %d' % sid, m.out, build, DAY, True)
                packs = old
            else:
                whole = s.stream('session %d' % sid, m.out, build, DAY, True)
            later = m.t + (50000 if 'tight' in f else 5 * S_NS)
    else:
        units = [(1, syms[0::2]), (2, syms[1::2])]
        rounds = 2 if 'restart' in f else 1
        offset_ts = DAY - 12 * 3600 * S_NS + 4 * 3600 * S_NS       # midnight in New York
        later = 0
        for k in range(rounds):
            ms, longest = [], 0
            for u, names in units:
                m = Pitch(r, f, names)
                m.t += later
                m.run(o.messages // 2)
                ms.append(m)
                first = 0xffffffff - len(m.out) // 2 if 'wrap' in f and k == 0 else 1

                def build(i, bs, st, u=u, first=first):
                    body = b''.join(bs)
                    return struct.pack('<HBBI', 8 + len(body), len(bs), u, (first + i - 1) % 0xffffffff + 1) + body
                w = s.stream('unit %d' % u, m.out, build, offset_ts, True)
                whole = (whole if u > 1 else True) and w
                longest = max(longest, m.t)
            markets.append(ms)
            later = longest - 34200 * S_NS + (50000 if 'tight' in f else 10 * S_NS)
        s.put(offset_ts + 34200 * S_NS, s.lines[0], struct.pack('<HBBI', 8, 0, 0, 0))       # a heartbeat of no unit
    s.finish(markets, whole)


if __name__ == '__main__':
    main()
