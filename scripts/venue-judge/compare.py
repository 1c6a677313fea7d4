"""compare.py NANOTAPE FILE [--date YYYY-MM-DD] [--book FILE]: the insides of a capture by the program and by the naive books.

--book: the program reads this input instead, a journal or a DBN file that was made from the capture. Rows of one time
are compared in the order of symbols: a unit that is cleared has no order among its stocks. Rows without a time are left
out: those of messages of a unit before its first second. Prints one line; exit status 1 if they differ.
"""
import argparse, csv, os, subprocess, sys

SECOND = 10**9
DAY = 86_400 * SECOND


def units(price):
    return '' if price == '' else str(round(float(price) * 10_000))


def theirs(path, date):
    replay = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'replay.py')
    options = ['--date', date] if date else []
    ran = subprocess.run([sys.executable, replay, path, '--what', 'insides', '--dup-add', 'ignore', *options],
                         capture_output=True, text=True, check=True)
    keys = ('symbol', 'bid_price', 'bid_size', 'ask_price', 'ask_size')
    return [(int(row['ts_event_ns']), *(row[key] for key in keys)) for row in csv.DictReader(ran.stdout.splitlines())]


def ours(program, path):
    ran = subprocess.run([program, 'inside', path, '--format', 'csv'], capture_output=True, text=True)
    if ran.returncode not in (0, 1):
        sys.exit(ran.stderr)
    return [(int(row['ts_ns'] or 0), row['symbol'], units(row['bid_price']), row['bid_size'],
             units(row['ask_price']), row['ask_size']) for row in csv.DictReader(ran.stdout.splitlines())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('capture')
    parser.add_argument('--date')
    parser.add_argument('--book')
    given = parser.parse_args()
    program = ours(given.program, given.book or given.capture)
    naive = theirs(given.capture, given.date)
    program = [row for row in program if row[0] >= SECOND]
    naive = [row for row in naive if row[0] >= SECOND]
    # The program prints times of day; the naive books count from the epoch if they know the date.
    if program and naive:
        offset = naive[0][0] - program[0][0]
        naive = [(row[0] - offset, *row[1:]) for row in naive]
        if offset % SECOND:
            sys.exit(f'{given.capture}: the first times differ by {offset} ns')
    program.sort(key=lambda row: row[:2])
    naive.sort(key=lambda row: row[:2])
    if program == naive:
        print(f'{len(naive)} insides are equal')
        return
    for place, (one, other) in enumerate(zip(program, naive)):
        if one != other:
            sys.exit(f'{given.capture}: row {place} is {one}, expected {other}')
    sys.exit(f'{given.capture}: {len(program)} rows, expected {len(naive)}')


main()
