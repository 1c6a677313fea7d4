"""book.py - the naive books and everything that is printed about them.

Engine: one instance per replay.  A symbol's book is
  - order by order: dict order id -> [symbol, side, price, size]; Python dicts keep insertion order, so the queue of a
    price level is the dict order; "to the tail" = take out and put in again.  price -> size is kept besides.
  - levels (DEEP, TOPS): dict price -> size per side.
canonical depth (hashed for `levels`):   B p s;p s|A p s;p s      best first, prices in 1/10000 as integers, one space
between price and size, `;` between levels, letter once per side, and an empty side is the letter alone: `B|A`.
canonical queue (hashed for `queue`):    B p id:s,id:s;p id:s|A ...   best first, head of the queue first.
"""
import hashlib


class Sym:
    def __init__(self, name):
        self.name = name
        self.levels = ({}, {})              # 0 bids, 1 asks: price -> size
        self.orders = {}                    # (owner, id) -> [sym, side, price, size]
        self.published = (None, None, None, None)
        self.digest = EMPTY
        self.qdigest = EMPTYQ
        self.dirty = False
        self.pending = None                 # event by timestamp: ts of the open event
        self.st = dict.fromkeys(STAT, 0)

    def bbo(self):
        b, a = self.levels
        bp = max(b) if b else None
        ap = min(a) if a else None
        return (bp, b.get(bp), ap, a.get(ap))

    def depth(self):
        b, a = self.levels
        l = ';'.join('%d %d' % (p, b[p]) for p in sorted(b, reverse=True))
        r = ';'.join('%d %d' % (p, a[p]) for p in sorted(a))
        return 'B' + (' ' + l if l else '') + '|A' + (' ' + r if r else '')

    def queue(self):
        sides = ({}, {})
        for (owner, oid), (_, side, price, size) in self.orders.items():
            sides[side].setdefault(price, []).append('%d:%d' % (oid, size))
        out = []
        for letter, d, rev in (('B', sides[0], True), ('A', sides[1], False)):
            t = ';'.join('%d %s' % (p, ','.join(d[p])) for p in sorted(d, reverse=rev))
            out.append(letter + (' ' + t if t else ''))
        return '|'.join(out)


STAT = ('messages', 'trades', 'volume', 'broken_trades', 'broken_volume', 'adds', 'deletes', 'modifies', 'executions',
        'event_ends', 'crossed', 'locked', 'insides', 'levels')
sha = lambda t: hashlib.sha1(t.encode('ascii', 'replace')).hexdigest()
EMPTY = sha('B|A')
EMPTYQ = EMPTY


class Engine:
    def __init__(self, what, misfit, out, events='message', breaks='mark', dup_add='replace', base=0):
        self.owner, self.emptied = None, {}         # the stream of the message, and stocks that a restart emptied
        self.what, self.misfit, self.out = what, misfit, out
        self.by_ts = events == 'timestamp'
        self.breaks, self.dup_add, self.base = breaks, dup_add, base
        self.syms, self.orders, self.trades, self.trade_rows = {}, {}, {}, []
        self.types = {}
        self.broken = set()
        self.want_levels, self.want_queue = what in ('levels', 'stats'), what == 'queue'

    # --- bookkeeping
    def sym(self, space, name):
        s = self.syms.get((space, name))
        if s is None:
            s = self.syms[space, name] = Sym(name)
        return s

    def count(self, typ):
        self.types[typ] = self.types.get(typ, 0) + 1

    def line(self, *cols):
        self.out(','.join('' if c is None else str(c) for c in cols) + '\n')

    # --- order by order
    def _agg(self, s, side, price, delta):
        d = s.levels[side]
        n = d.get(price, 0) + delta
        if n:
            d[price] = n
        else:
            del d[price]
        s.dirty = True

    def _put(self, key, s, side, price, size):
        o = [s, side, price, size]
        self.orders[key] = o
        s.orders[key] = o
        self._agg(s, side, price, size)

    def _take(self, key):
        o = self.orders.pop(key)
        s, side, price, size = o
        del s.orders[key]
        self._agg(s, side, price, -size)
        return o

    def add(self, s, key, side, price, size):
        """True if something was done"""
        s.st['adds'] += 1
        if size == 0:
            self.misfit('zero_size_add', '%s %s' % (s.name, key))
            return False
        if key in self.orders:
            self.misfit('duplicate_order_id', '%s %s' % (s.name, key))
            if self.dup_add == 'ignore':
                return False
            old = self._take(key)
            if old[0] is not s:
                self.misfit('duplicate_order_id_other_symbol', '%s was %s' % (s.name, old[0].name))
                self.end_quiet(old[0])
        self._put(key, s, side, price, size)
        return True

    def end_quiet(self, s):
        pass                                # the other symbol's change shows at its next event end

    def find(self, key, typ):
        o = self.orders.get(key)
        if o is None:
            self.misfit('unknown_order_' + typ, '%s' % (key,))
        return o

    def set_size(self, key, size):
        o = self.orders[key]
        if size <= 0:
            self._take(key)
        else:
            self._agg(o[0], o[1], o[2], size - o[3]) if size != o[3] else None
            o[3] = size

    def reduce(self, key, n, kind):
        o = self.orders[key]
        if n > o[3]:
            self.misfit(kind, '%s %s has %d, message %d' % (o[0].name, key, o[3], n))
        self.set_size(key, o[3] - n)

    def modify(self, key, price, size, keep):
        o = self.orders[key]
        o[0].st['modifies'] += 1
        if size == 0:
            self._take(key)
        elif keep and price == o[2]:
            self.set_size(key, size)
        else:
            s, side = o[0], o[1]
            self._take(key)
            self._put(key, s, side, price, size)

    def clear_symbol(self, s):
        for k in list(s.orders):
            self._take(k)

    def clear_owner(self, owner):
        """all orders whose owner is `owner`; returns the symbols touched, sorted by name"""
        hit = {}
        for k in [k for k in self.orders if k[0] == owner]:
            s = self._take(k)[0]
            hit[s.name] = s
        return [hit[n] for n in sorted(hit)]

    # --- levels
    def level(self, s, side, price, size):
        d = s.levels[side]
        if size:
            s.st['modifies' if price in d else 'adds'] += 1
            if d.get(price) != size:
                s.dirty = True
            d[price] = size
        elif price in d:
            s.st['deletes'] += 1
            del d[price]
            s.dirty = True
        else:
            self.misfit('unknown_level', '%s %s %d' % (s.name, 'BA'[side], price))

    # --- stream restart: as if nothing had been before; a row for each stock that had an inside, at the next message
    def forget(self, owner, space=None):
        self.flush()
        had = {id(s): s for s in self.syms.values() if s.published != (None,) * 4}
        for s in self.clear_owner(owner):
            s.published, s.digest, s.qdigest, s.dirty = (None,) * 4, EMPTY, EMPTYQ, False
        if space is not None:
            for (sp, _), s in self.syms.items():
                if sp == space:
                    s.levels = ({}, {})
                    for k in list(s.orders):
                        del self.orders[k], s.orders[k]
                    s.published, s.digest, s.qdigest, s.dirty = (None,) * 4, EMPTY, EMPTYQ, False
        emptied = [s for s in had.values() if s.published == (None,) * 4]
        self.emptied.setdefault(owner, []).extend(emptied)
        for k in [k for k in self.trades if k[0] == owner]:
            del self.trades[k]
            self.broken.discard(k)

    def show_emptied(self, owner, ts):
        for s in self.emptied.pop(owner, []):
            if self.what == 'insides' and ts is not None:
                self.line(self.stamp(ts), s.name, None, None, None, None)

    # --- trades
    def trade(self, ts, s, owner, price, size, tid):
        s.st['trades'] += 1
        s.st['volume'] += size
        row = [self.stamp(ts), s.name, price, size, tid, 0]
        if (owner, tid) in self.trades:
            self.misfit('duplicate_trade_id', '%s %d' % (s.name, tid))
        self.trades[owner, tid] = (row, s)
        self.broken.discard((owner, tid))
        self.trade_rows.append(row)

    def break_(self, ts, owner, tid, expect=None):
        t = self.trades.get((owner, tid))
        if t is None:
            self.misfit('unknown_trade_break', 'trade %d' % tid)
            if expect and self.breaks == 'row':
                self.trade_rows.append([self.stamp(ts), expect[0], expect[1], expect[2], tid, 1])
            return None
        row, s = t
        if expect and (row[1], row[2], row[3]) != expect:
            self.misfit('break_differs_from_trade', '%s against %s' % (expect, row))
        if row[5] or (owner, tid) in self.broken:
            self.misfit('trade_broken_again', 'trade %d' % tid)
            return s
        s.st['broken_trades'] += 1
        s.st['broken_volume'] += row[3]
        if self.breaks == 'row':
            self.broken.add((owner, tid))
            self.trade_rows.append([self.stamp(ts), row[1], row[2], row[3], tid, 1])
        else:
            row[5] = 1
        return s

    def stamp(self, ts):
        return ts + self.base

    # --- event ends
    def end(self, ts, s, mode='message'):
        """an event of s ends.  mode 'flag': the protocol says so itself; 'message': each message, or, by choice, each
        run of messages of one symbol with one timestamp"""
        if self.by_ts and mode == 'message':
            s.pending = ts
            return
        self._end(ts, s)

    def before(self, ts, s):
        """by timestamp only: called before a message of s is applied"""
        if self.by_ts and s.pending is not None and s.pending != ts:
            p, s.pending = s.pending, None
            self._end(p, s)

    def flush(self):
        for s in list(self.syms.values()):
            if s.pending is not None:
                p, s.pending = s.pending, None
                self._end(p, s)

    def _end(self, ts, s):
        s.st['event_ends'] += 1
        b = s.bbo()
        if b[0] is not None and b[2] is not None and b[0] >= b[2]:
            s.st['crossed'] += 1            # locked books count as crossed, and are also counted apart
            if b[0] == b[2]:
                s.st['locked'] += 1
        self.show_emptied(self.owner, ts)
        if b != s.published:
            s.published = b
            s.st['insides'] += 1
            if self.what == 'insides':
                self.line(self.stamp(ts), s.name, *b)
        if s.dirty and self.want_levels:
            d = sha(s.depth())
            if d != s.digest:
                s.digest = d
                s.st['levels'] += 1
                if self.what == 'levels':
                    self.line(self.stamp(ts), s.name, d)
        if self.want_queue:
            d = sha(s.queue())
            if d != s.qdigest:
                s.qdigest = d
                self.line(self.stamp(ts), s.name, d)
        s.dirty = False
