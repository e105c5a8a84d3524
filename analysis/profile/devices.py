"""Which devices the files of one capture hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.profile.columns import find_columns, table_spec
from analysis.profile.csv_file import CsvText

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from analysis.profile.discover import SourceFile

# msprof writes all devices of a process into one file; torch_npu has one device a process, and small
# files name it.
_TOLD_BY = {
    "msprof": (("op_summary", "kernels"), ("op_statistic", "op_statistic"), ("step_trace", "step_trace")),
    "torch_npu": (("step_trace_time", "step_trace_time"), ("op_statistic", "op_statistic")),
}


def device_ids(files: Mapping[str, SourceFile], producer: str) -> tuple[int, ...]:
    """Distinct ``Device_id`` values, ascending; empty where no file names one."""
    devices: set[int] = set()
    for kind, table in _TOLD_BY.get(producer, ()):
        if kind in files:
            for path in files[kind].parts:
                devices |= _devices_in(path, table)
    return tuple(sorted(devices))


def _devices_in(path: Path, table: str) -> set[int]:
    text = CsvText.open(path)
    column = next(
        (c for c in find_columns(table_spec(table), text.header) if c.spec.name == "device_id"), None
    )
    if column is None:
        return set()
    cell = pl.col(str(column.position)).str.strip_chars().cast(pl.Int64, strict=False)
    frame, _ = text.collect(lambda rows: rows.select(cell.unique().alias("device")))
    return set(frame["device"].drop_nulls().to_list())
