"""Opens the files that `nanotape convert`, `trades` and `inside --every` wrote, as users do.

usage: read_conversions.py FOLDER MESSAGES,INSIDE_CHANGES,TRADES,VOLUME_SHARES

The numbers are those of all stocks from `nanotape stats`, which come from another path of the program.
"""

import sys
import warnings

import databento
import duckdb
import pandas

warnings.filterwarnings("ignore")

# Stocks that are named NA or NULL are no missing values.
KEEP_NAMES = {"keep_default_na": False, "na_values": [""]}


def main():
    folder = sys.argv[1]
    _, inside_changes, trades, volume = map(int, sys.argv[2].split(","))

    frames = {}
    for kind in ("mbo", "bbo", "trades", "status", "definitions", "imbalances"):
        store = databento.DBNStore.from_file(f"{folder}/{kind}.dbn.zst")
        frames[kind] = store.to_df()
        print(f"{kind}: schema {store.schema}, {len(frames[kind])} rows of to_df()")
    for kind in ("mbo", "bbo", "trades", "definitions"):
        unnamed = frames[kind].symbol.isna().sum()
        assert unnamed == 0, f"{kind}: {unnamed} rows without a symbol"
    # Rows are in the exchange's day, not in the minute of the conversion.
    index = frames["mbo"].index
    assert index.name == "ts_recv" and str(index[0].date()) == "2019-12-30", index[0]
    assert len(frames["bbo"]) == inside_changes, (len(frames["bbo"]), inside_changes)
    all_kinds = databento.DBNStore.from_file(f"{folder}/all.dbn.zst")
    for kind, schema in (("mbo", "mbo"), ("bbo", "mbp-1"), ("trades", "trades")):
        assert len(all_kinds.to_df(schema=schema)) == len(frames[kind]), kind

    prints = pandas.read_csv(f"{folder}/prints.csv", parse_dates=["ts_event"], **KEEP_NAMES)
    assert prints.broken.dtype == bool and str(prints.ts_event.dt.tz) == "UTC"
    counted = prints[~prints.broken]
    assert (len(counted), counted["size"].sum()) == (trades, volume), (len(counted), trades)
    # A record has no break: the records of trades are all prints.
    assert len(frames["trades"]) == len(prints), (len(frames["trades"]), len(prints))
    assert (frames["trades"].price.to_numpy() == prints.price.to_numpy()).all()

    by_stock = duckdb.sql(
        f"""select symbol, sum(size) as shares from read_csv('{folder}/prints.csv')
            where not broken group by symbol order by symbol"""
    ).df()
    own = counted.groupby("symbol")["size"].sum().sort_index()
    assert list(by_stock.symbol) == list(own.index) and list(by_stock.shares) == list(own)
    print(f"duckdb: {len(by_stock)} stocks, {int(by_stock.shares.sum())} shares")

    minutes = pandas.read_csv(f"{folder}/minutes.csv", parse_dates=["ts_event"], **KEEP_NAMES)
    grid = minutes.groupby("symbol").ts_event
    steps = grid.diff().dropna().unique()
    assert list(steps) == [pandas.Timedelta("1min")], steps
    # The last inside of each minute, from every change.
    bbo = frames["bbo"].reset_index()
    symbol = bbo.symbol.value_counts().index[0]
    changes = bbo[bbo.symbol == symbol].set_index("ts_event").bid_px_00
    sampled = minutes[minutes.symbol == symbol].set_index("ts_event").bid_price
    expected = changes.groupby(level=0).last().reindex(sampled.index, method="ffill")
    both = pandas.concat([sampled, expected], axis=1)
    assert both.iloc[:, 0].equals(both.iloc[:, 1].rename("bid_price")), symbol
    print(f"pandas: {len(sampled)} minutes of {symbol} are the last insides up to them")


main()
