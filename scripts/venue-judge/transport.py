"""transport.py - numbering, duplicates, gaps, and the merging of lines, the same for IEX-TP, PITCH units and MoldUDP64.

A protocol hands over `Seg`s in capture order: stream key, line, generation, first number, list of messages.
(The generation counts new sessions and restarts of one stream; the protocol module decides it line by line.)

merge(segs, mode, rep) yields, in order,
    ('new', key, generation)                     a stream begins (the books of the stream are to be emptied)
    ('gap', key, first_missing, last_missing)
    ('msg', key, number, bytes, seg)
mode 'ideal' (default): a number that arrives on any line at any later place of the file is waited for, so only numbers
that are nowhere in the file are a gap.  mode 'live': nothing is waited for; the first number ahead declares the gap,
late copies are dropped.
"""


class Seg:
    __slots__ = ('key', 'line', 'gen', 'first', 'msgs', 'n', 'ts', 'count')

    def __init__(self, key, line, gen, first, msgs, n, ts, count=None):
        self.key, self.line, self.gen, self.first, self.msgs, self.n, self.ts = key, line, gen, first, msgs, n, ts
        self.count = len(msgs) if count is None else count     # numbers used, even if fewer could be parsed


class Report:
    """counts by kind and the first lines of each kind (all of them with verbose)"""

    def __init__(self, verbose=False, limit=10):
        self.counts, self.lines, self.verbose, self.limit = {}, [], verbose, limit

    def __call__(self, kind, text='', n=1):
        c = self.counts.get(kind, 0)
        self.counts[kind] = c + n
        if text and (self.verbose or c < self.limit):
            self.lines.append('%s: %s' % (kind, text))

    def write(self, out):
        for l in self.lines:
            print(l, file=out)
        for k in sorted(self.counts):
            print('COUNT %s %d' % (k, self.counts[k]), file=out)


class _Stream:
    def __init__(self, e):
        self.e = e              # next number to deliver
        self.horizon = e        # highest next number seen so far
        self.buf = {}           # number -> (bytes, seg)


def merge(segs, mode, rep):
    last_place = {}             # (key, gen) -> {number: index of the last segment that has it}
    first_bytes = {}
    if mode == 'ideal':
        for i, s in enumerate(segs):
            d = last_place.setdefault((s.key, s.gen), {})
            for j in range(len(s.msgs)):
                d[s.first + j] = i
    current, streams = {}, {}
    for i, s in enumerate(segs):
        cur = current.get(s.key)
        if cur is not None and s.gen < cur:
            rep('stale_generation_packet', 'packet %d of an older session/stream of %s' % (s.n, s.key))
            continue
        if cur is None or s.gen > cur:
            if cur is not None:
                yield from _drain(streams[s.key], s.key, None, None, rep, True)
                rep('new_stream', '%s generation %d at packet %d number %d' % (s.key, s.gen, s.n, s.first))
            current[s.key] = s.gen
            start = s.first if cur is None else 1
            if s.first != 1 and cur is None:
                rep('joined_late', '%s starts at number %d' % (s.key, s.first))
            streams[s.key] = _Stream(start)
            yield ('new', s.key, s.gen)
        st = streams[s.key]
        dup = 0
        for j, m in enumerate(s.msgs):
            q = s.first + j
            k = (s.key, s.gen, q)
            if k in first_bytes:
                dup += 1
                if first_bytes[k] != m:
                    rep('conflicting_duplicate', '%s number %d differs in packet %d' % (s.key, q, s.n))
                continue
            if q < st.e:        # before the join, or given up as a gap (live mode)
                rep('late_message', '%s number %d in packet %d, expected %d' % (s.key, q, s.n, st.e))
                continue
            first_bytes[k] = m
            st.buf[q] = (m, s)
        if dup:
            rep('duplicate_messages', n=dup)
            rep('duplicate_packet' if dup == len(s.msgs) else 'partly_duplicate_packet',
                '%s packet %d line %s numbers %d..%d, %d seen before' % (s.key, s.n, s.line, s.first, s.first + s.count - 1, dup))
        nxt = s.first + s.count
        if nxt > st.horizon:
            st.horizon = nxt
        yield from _drain(st, s.key, last_place.get((s.key, s.gen)), i, rep, mode != 'ideal')
    for key, st in streams.items():
        yield from _drain(st, key, None, None, rep, True)


def _drain(st, key, places, here, rep, force):
    while st.e < st.horizon:
        q = st.e
        if q in st.buf:
            m, s = st.buf.pop(q)
            st.e = q + 1
            yield ('msg', key, q, m, s)
            continue
        if not force and places.get(q, -1) > here:
            return
        r = q                   # q is nowhere: a gap up to the next number that is known
        step = min((b for b in st.buf if b > q), default=st.horizon)
        while r < step and (force or places.get(r, -1) <= here):
            r += 1
        rep('gap', '%s numbers %d..%d missing (%d)' % (key, q, r - 1, r - q))
        rep('gap_messages', n=r - q)
        st.e = r
        yield ('gap', key, q, r - 1)
