#!/usr/bin/env python3
"""Writes the files of this folder: the same 48 x 4 readings in every format that the trainer understands, and files it
must refuse. Not run by the tests, so that they need no Python packages: run it (in this folder, with pandas, tables,
h5py, scipy) when a file is to be added, and look at what changes. Then make_python2.py for the pickles of Python 2."""
import os
import pickle
import h5py
import numpy as np
import pandas as pd
import scipy.sparse

ROWS, IDS = 48, ["773869", "767541", "767542", "717447"]
# Quarters of a mile per hour: exact in every number format. Some are missing. Midnight lies between two rows.
r, s = np.meshgrid(np.arange(ROWS), np.arange(4), indexing="ij")
speed = 45 + ((r * 7 + s * 13) % 101) / 4.0
speed[(r * 5 + s * 3) % 17 == 0] = 0
times = pd.date_range("2012-03-01 22:00", periods=ROWS, freq="5min")
frame = pd.DataFrame(speed, index=pd.DatetimeIndex(times.values), columns=IDS)
frame.index.name = "timestamp"


def fixed(data, name, key="df", **more):
    data.to_hdf(name, key=key, mode="w", **more)


def change(name, edit, base="metr-la.h5"):
    with open(base, "rb") as source, open(name, "wb") as target:
        target.write(source.read())
    with h5py.File(name, "r+") as f:
        edit(f["df"])


def attribute(node, name, text):
    node.attrs[name] = np.bytes_(text)  # fixed width, as Python 2 left them


frame.to_csv("speeds.csv", date_format="%Y-%m-%d %H:%M")

# ---- pandas -------------------------------------------------------------------------------------------------------
fixed(frame, "metr-la.h5")
bay = frame.where(frame != 0)  # NaN
bay.columns = bay.columns.astype("int64")
bay.index.freq = "5min"
fixed(bay, "pems-bay.h5", "speed")
mixed = frame.copy()
mixed[IDS[1]] = mixed[IDS[1]].astype("float32")
mixed[IDS[3]] = mixed[IDS[3]].astype("float32")
fixed(mixed, "mixed.h5", complevel=9, complib="zlib")


def microseconds(df):
    df["axis1"][...] //= 1000
    attribute(df["axis1"], "kind", "datetime64[us]")


def bare(df):
    for node in [df] + [df[k] for k in df]:
        for a in list(node.attrs):
            del node.attrs[a]


change("microseconds.h5", microseconds)  # as pandas 3 names its unit
change("bare.h5", bare)  # no attributes at all
many_types = lambda df: df.attrs.create("pandas_type", ["frame"] * 60, dtype=h5py.string_dtype())
change("many-types.h5", many_types)  # an array where one text belongs; the file here is written by libhdf5's own calls
fixed(pd.DataFrame(speed, columns=IDS), "numbered-rows.h5")

fixed(frame.iloc[:4], "bad-table.h5", format="table", index=False)
fixed(frame.tz_localize("America/Los_Angeles"), "bad-zone.h5")
fixed(frame, "bad-blosc.h5", complevel=5, complib="blosc")
fixed(frame, "bad-two-frames.h5")
frame.to_hdf("bad-two-frames.h5", key="other", mode="a")
fixed(frame.iloc[[1, 0] + list(range(2, ROWS))], "bad-order.h5")
fixed(frame[IDS[0]], "bad-series.h5")
fixed(frame * 10, "bad-speeds.h5")
fixed(pd.DataFrame(speed, columns=pd.MultiIndex.from_product([["a", "b"], ["c", "d"]])), "bad-levels.h5")


def replace(df, name, **how):
    kept = {k: v for k, v in df[name].attrs.items() if k in ("kind", "transposed")}
    del df[name]
    node = df.create_dataset(name, **how)
    for k, v in kept.items():
        node.attrs[k] = v


change("bad-twice.h5", lambda df: replace(df, "axis0", data=np.array(IDS[:1] * 2 + IDS[2:], dtype="S6")))
change("bad-items.h5", lambda df: replace(df, "block0_items", data=np.array(["999999"] + IDS[1:], dtype="S6")))
change("bad-shape.h5", lambda df: replace(df, "block0_values", data=speed[:40]))
change("bad-narrow.h5", lambda df: replace(df, "block0_values", data=speed[:, :3]))
change("bad-texts.h5", lambda df: replace(df, "axis0", data=IDS, dtype=h5py.string_dtype()))
change("bad-kind.h5", lambda df: attribute(df["axis1"], "kind", "float"))
change("bad-nat.h5", lambda df: df["axis1"].write_direct(np.full(ROWS, np.iinfo("int64").min)))


def claims(df):  # 10^9 rows are promised, none is there
    replace(df, "axis1", shape=(10**9,), dtype="<i8", chunks=(1 << 16,))
    replace(df, "block0_values", shape=(10**9, 4), dtype="<f8", chunks=(1 << 14, 4))


change("bad-claims.h5", claims)
with h5py.File("bad-plain.h5", "w") as f:
    f["speed"] = speed

# ---- NumPy --------------------------------------------------------------------------------------------------------
np.save("speeds.npy", speed)
np.save("speeds-f4-fortran.npy", np.asfortranarray(speed.astype(">f4")))
features = np.stack([np.full_like(speed, 400), np.zeros_like(speed), np.where(speed == 0, np.nan, speed)], axis=-1)
np.savez_compressed("pems04.npz", data=features)  # flow, occupancy, speed
np.savez("stored.npz", other=np.zeros(3), data=speed.astype("f4"))
np.savez_compressed("bad-several.npz", a=speed, b=speed)
os.makedirs("windows", exist_ok=True)
of_day = ((times - times.normalize()) / np.timedelta64(1, "D")).values
series = np.stack([speed, np.tile(of_day[:, None], (1, 4))], axis=-1)
n = ROWS - 24 + 1
x = np.stack([series[w:w + 12] for w in range(n)])
y = np.stack([series[w + 12:w + 24] for w in range(n)])
n_test, n_train = round(n * 0.2), round(n * 0.7)
for name, part in (("train", slice(0, n_train)), ("val", slice(n_train, n - n_test)), ("test", slice(n - n_test, n))):
    np.savez_compressed(f"windows/{name}.npz", x=x[part], y=y[part], x_offsets=np.arange(-11, 1)[:, None],
                        y_offsets=np.arange(1, 13)[:, None])

# ---- graphs -------------------------------------------------------------------------------------------------------
weights = np.eye(4, dtype="f4")
weights[0, 1], weights[1, 2], weights[3, 0] = 0.5, 0.25, 0.75
with open("edges.csv", "w") as f:
    f.write("from,to,weight\n")
    for i, j in zip(*np.nonzero(weights)):
        f.write(f"{IDS[i]},{IDS[j]},{weights[i, j]}\n")
np.save("weights.npy", weights)
np.savez("weights.npz", adj=np.asfortranarray(weights))
for kind in ("csr", "csc", "coo", "bsr"):
    scipy.sparse.save_npz(f"weights-{kind}.npz", scipy.sparse.csr_matrix(weights).asformat(kind))
many = np.zeros(17, dtype=int)  # one value more than the matrix has cells
np.savez_compressed("bad-sparse.npz", format=b"coo", shape=(4, 4), data=many + 1, row=many, col=many)
index = {s: i for i, s in enumerate(IDS)}
for protocol in range(6):
    with open(f"adj_mx-python3-{protocol}.pkl", "wb") as f:
        pickle.dump([IDS, index, weights], f, protocol=protocol)
with open("adj_mx-numbers.pkl", "wb") as f:
    pickle.dump(([int(s) for s in IDS], index, np.asfortranarray(weights.astype(">f8"))), f)


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/dcreport-pickle-ran",)


for name, value in (("bad-evil.pkl", [IDS, Evil(), weights]), ("bad-matrix-only.pkl", weights),
                    ("bad-three.pkl", [IDS, index, weights[:3]]), ("bad-twice.pkl", [IDS[:1] * 4, index, weights])):
    with open(name, "wb") as f:
        pickle.dump(value, f, protocol=2)
