"""replay.py FILE [--protocol auto|deep|deepplus|tops|iex|pitch|itch] [--what events|insides|trades|stats|levels|queue|books]
              [--date YYYY-MM-DD] [--arbitration ideal|live|none] [--events message|timestamp] [--breaks mark|row]
              [--dup-add replace|ignore] [--verbose] [--no-header]

CSV on stdout, report of everything that does not fit on stderr (lines `kind: text`, then `COUNT kind n`).

insides   ts_event_ns,symbol,bid_price,bid_size,ask_price,ask_size   at each event end after which they differ
levels    ts_event_ns,symbol,sha1 of the canonical depth             at each event end after which it differs
          canonical depth: `B p s;p s|A p s;p s`, best first, integers, ASCII, an empty side is its letter alone: `B|A`
queue     like levels, of order by order queues: `B p id:s,id:s;p id:s|A p id:s` (own addition)
trades    ts_event_ns,symbol,price,size,trade_id,broken   one row a trade in feed order.  --breaks mark: broken=1 if it is
          broken anywhere later in the file; --breaks row: broken=0, and a further row with broken=1 at the break's time
stats     one row a symbol, then `#type`, `#count`, `#report` rows
events    stream,number,capture_ts,ts_event_ns,type,symbol,fields     every delivered message
books     symbol,canonical depth          at the end of the file (own addition)
--arbitration: see transport.py; `none` delivers every message of every packet in capture order (for picked packets)
--events: what an event is for order-by-order feeds: each message (default), or a run of one symbol with one timestamp
"""
import argparse, calendar, collections, datetime, sys
import capture, iex, itch, pitch, transport
from book import Engine, STAT


def midnight(date):
    y, m, d = map(int, date.split('-'))
    try:
        from zoneinfo import ZoneInfo
        return int(datetime.datetime(y, m, d, tzinfo=ZoneInfo('America/New_York')).timestamp()) * 1000000000
    except Exception:                       # no time zone data: the rules since 2007
        def sunday(mon, k):
            first = calendar.weekday(y, mon, 1)
            return 1 + (6 - first) % 7 + 7 * (k - 1)
        day = datetime.date(y, m, d)
        dst = datetime.date(y, 3, sunday(3, 2)) < day <= datetime.date(y, 11, sunday(11, 1))
        return (calendar.timegm((y, m, d, 0, 0, 0)) + (4 if dst else 5) * 3600) * 1000000000


def detect(data, packets):
    if packets is None:
        return 'itch'
    score = collections.Counter()
    for _, _, _, p in packets[:500]:
        if iex.looks_like(p):
            score['iex'] += 1
        elif pitch.looks_like(p):
            score['pitch'] += 1
        elif itch.looks_like_mold(p):
            score['itch'] += 1
    return score.most_common(1)[0][0] if score else 'none'


def delivered(segs, mode, rep):
    if mode != 'none':
        yield from transport.merge(segs, mode, rep)
        return
    seen = set()
    for s in segs:
        if s.key not in seen:
            seen.add(s.key)
            yield ('new', s.key, 0)
        for j, m in enumerate(s.msgs):
            yield ('msg', s.key, s.first + j, m, s)


class Replay:
    def __init__(self, data, protocol='auto', what='stats', date=None, arbitration='ideal', events='message', breaks='mark',
                 dup_add='replace', verbose=False, out=sys.stdout.write, hook=None, header=True):
        self.rep = rep = transport.Report(verbose)
        self.cap = collections.Counter()
        packets = None
        if capture.is_capture(data):
            packets = list(capture.read_data(data, self.cap))
        iexp = None
        if protocol in ('deep', 'deepplus', 'tops'):
            iexp = {'deep': (iex.DEEP,), 'deepplus': (iex.DPLS,), 'tops': (iex.TOPS15, iex.TOPS16)}[protocol]
            protocol = 'iex'
        if protocol == 'auto':
            protocol = detect(data, packets)
        self.protocol = protocol
        if protocol == 'iex':
            segs = iex.segments(packets, rep, iexp)
        elif protocol == 'pitch':
            segs = pitch.segments(packets, rep)
        elif protocol == 'itch' and packets is None:
            if not itch.looks_like_file(data):
                rep('doubtful_itch_file', 'the first records do not have the lengths of the table')
            segs = itch.file_segments(data, rep)
        elif protocol == 'itch':
            segs = itch.mold_segments(packets, rep)
        else:
            raise SystemExit('no known protocol in this file')
        self.segs = len(segs)
        base = midnight(date) if date and protocol != 'iex' else 0
        self.e = e = Engine(what, rep, out, events, breaks, dup_add, base)
        self.messages = 0
        heads = {'insides': 'ts_event_ns,symbol,bid_price,bid_size,ask_price,ask_size', 'levels': 'ts_event_ns,symbol,sha1',
                 'queue': 'ts_event_ns,symbol,sha1', 'trades': 'ts_event_ns,symbol,price,size,trade_id,broken',
                 'events': 'stream,number,capture_ts,ts_event_ns,type,symbol,fields', 'books': 'symbol,depth',
                 'stats': 'symbol,' + ','.join(STAT)}
        if header:
            out(heads[what] + '\n')
        clock = pitch.Clock()
        protos = {v: k for k, v in iex.NAMES.items()}
        for d in delivered(segs, arbitration, rep):
            key = d[1]
            if d[0] == 'new':
                if d[2]:
                    e.forget(key, key.split('/')[0] if protocol == 'iex' else None)
                    clock.reset(key)
                if hook:
                    hook('new', key, d[2])
                continue
            if d[0] == 'gap':
                continue
            _, _, num, m, seg = d
            self.messages += 1
            e.owner = key
            if protocol == 'iex':
                r = iex.apply(e, protos[key.split('/')[0]], key, m)
            elif protocol == 'pitch':
                r = pitch.apply(e, clock, key, m)
            else:
                r = itch.apply(e, key, m)
            if r is not None and key in e.emptied:
                ts = r.get('ts')
                if ts is None and protocol == 'pitch' and key in clock.sec:
                    ts = clock.sec[key] * 10**9
                e.show_emptied(key, ts)
            if hook:
                hook('msg', num, r)
            if what == 'events':
                if r is None:
                    e.line(key, num, seg.ts, None, 'undecoded', None, m.hex())
                else:
                    t = '0x%02X' % r['type'] if isinstance(r['type'], int) else r['type']
                    ts = r.get('ts')
                    f = ' '.join('%s=%s' % (k, v) for k, v in r.items() if k not in ('type', 'ts', 'symbol', 'off'))
                    e.line(key, num, seg.ts, None if ts is None else e.stamp(ts), t, r.get('symbol'), f)
        e.flush()
        if what == 'trades':
            for row in e.trade_rows:
                e.line(*row)
        elif what == 'books':
            for k in sorted(e.syms):
                e.line(e.syms[k].name, e.syms[k].depth())
        elif what == 'stats':
            tot = dict.fromkeys(STAT, 0)
            for k in sorted(e.syms):
                s = e.syms[k]
                e.line(s.name, *[s.st[c] for c in STAT])
                for c in STAT:
                    tot[c] += s.st[c]
            for t in sorted(e.types):
                e.line('#type', t, e.types[t])
            e.line('#count', 'packets', self.cap['udp'] if packets is not None else 0)
            e.line('#count', 'messages', self.messages)
            for c in STAT[1:]:
                e.line('#count', c, tot[c])
            e.line('#count', 'symbols', len(e.syms))
            e.line('#count', 'live_orders', len(e.orders))
            e.line('#count', 'gaps', rep.counts.get('gap', 0))
            e.line('#count', 'gap_messages', rep.counts.get('gap_messages', 0))
            for k in sorted(rep.counts):
                e.line('#report', k, rep.counts[k])
            for k in sorted(self.cap):
                e.line('#capture', k, self.cap[k])


def main(argv=None):
    a = argparse.ArgumentParser(usage=__doc__)
    a.add_argument('file')
    a.add_argument('--protocol', default='auto', choices=['auto', 'iex', 'deep', 'deepplus', 'tops', 'pitch', 'itch'])
    a.add_argument('--what', default='stats', choices=['events', 'insides', 'trades', 'stats', 'levels', 'queue', 'books'])
    a.add_argument('--date')
    a.add_argument('--arbitration', default='ideal', choices=['ideal', 'live', 'none'])
    a.add_argument('--events', default='message', choices=['message', 'timestamp'])
    a.add_argument('--breaks', default='mark', choices=['mark', 'row'])
    a.add_argument('--dup-add', default='replace', choices=['replace', 'ignore'])
    a.add_argument('--verbose', action='store_true')
    a.add_argument('--no-header', action='store_true')
    o = a.parse_args(argv)
    rows = []
    r = Replay(capture.load(o.file), o.protocol, o.what, o.date, o.arbitration, o.events, o.breaks, o.dup_add, o.verbose,
               rows.append, header=not o.no_header)
    sys.stdout.write(''.join(rows))
    print('protocol %s, %d messages, capture %s' % (r.protocol, r.messages, dict(r.cap)), file=sys.stderr)
    r.rep.write(sys.stderr)


if __name__ == '__main__':
    main()
