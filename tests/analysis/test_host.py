"""Host APIs: levels apart, one-off calls apart, and the verdicts on launches and synchronisation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.datafile import load_toml
from analysis.host import Host, Verdict, find_host
from analysis.iterations import Iterations
from analysis.profile.discover import SourceFile
from analysis.profile.tables import POLARS_TYPE, Table, read_table


def iterations(count: int = 1, *, excluded: int | None = None) -> Iterations:
    return Iterations(count, "model_execute", False, excluded, None, None, None)


def statistic(*rows: tuple[str, str, int, int]) -> Table:
    """api_statistic from (level, name, count, total in us)."""
    columns = load_toml("analysis.profile", "columns.toml")["api_statistic"]["columns"]
    schema = {name: POLARS_TYPE[spec["type"]] for name, spec in columns.items()}
    cells: list[dict[str, Any]] = [
        dict.fromkeys(schema) | {"level": level, "name": name, "count": count, "total_ns": 1000 * us}
        for level, name, count, us in rows
    ]
    return Table(pl.DataFrame(cells, schema=schema), frozenset(schema), "api_statistic.csv")


def host(*rows: tuple[str, str, int, int], count: int = 1, dispatch_bound: bool | None = None) -> Host:
    return find_host(statistic(*rows), iterations(count), dispatch_bound)


def verdict(found: Host, kind: str) -> Verdict:
    return next(verdict for verdict in found.verdicts if verdict.kind == kind)


# EXPECTED.md 2.1: three iterations; the same name occurs at two levels.
INFERENCE = (
    ("model", "InputCopy", 3, 150),
    ("runtime", "MemCopySync", 6, 187),
    ("runtime", "ModelExecute", 3, 30),
    ("model", "ModelExecute", 3, 900),
    ("model", "OutputCopy", 3, 60),
    ("runtime", "StreamSynchronize", 3, 750),
    ("acl", "aclmdlExecute", 3, 1170),
    ("acl", "aclrtMemcpy", 6, 270),
)


class TestTables:
    def test_one_name_at_two_levels_is_two_rows(self) -> None:
        found = host(*INFERENCE, count=3).apis.filter(pl.col("name") == "ModelExecute")
        assert found.select("level", "total_ns", "per_iteration_ns", "avg_ns").rows() == [
            ("model", 900_000, 300_000, 300_000),
            ("runtime", 30_000, 10_000, 10_000),
        ]

    def test_rows_stand_level_by_level_the_longest_first(self) -> None:
        found = host(
            ("vendor", "Other", 1, 9),
            ("runtime", "KernelLaunch", 1, 8),
            ("communication", "hcom_allReduce_", 1, 7),
            ("node", "launch", 1, 6),
            ("model", "B", 1, 5),
            ("model", "C", 1, 5),
            ("model", "A", 1, 6),
            ("acl", "aclnnMul", 1, 1),
        )
        expected = ["aclnnMul", "A", "B", "C", "launch", "hcom_allReduce_", "KernelLaunch", "Other"]
        assert found.apis["name"].to_list() == expected
        assert found.top["name"].to_list() == expected

    def test_top_is_chosen_over_all_levels_by_total(self) -> None:
        small = [("acl", f"aclnnSmall{number:02}", 1, 1) for number in range(15)]
        found = host(*small, ("runtime", "KernelLaunch", 1, 50))
        assert found.top.height == 15
        assert found.top["name"].to_list() == [
            *(f"aclnnSmall{number:02}" for number in range(14)),
            "KernelLaunch",
        ]

    def test_rows_of_several_threads_are_added(self) -> None:
        found = host(("node", "launch", 2, 10), ("node", "launch", 4, 50), count=2)
        shown = found.apis.select("count", "count_per_iteration", "total_ns", "per_iteration_ns", "avg_ns")
        assert shown.rows() == [(6, 3.0, 60_000, 30_000, 10_000)]

    @pytest.mark.parametrize(
        "name",
        [
            "ModelLoad",
            "BuildGraph",
            "AddGraph",
            "GEInitialize",
            "opCompile",
            "aclrtBinaryLoadFromData",
            "aclrtSetDevice",
        ],
    )
    def test_build_and_load_apis_stand_apart(self, name: str) -> None:
        found = host(("acl", name, 1, 999), ("acl", "aclnnMul", 5, 1))
        assert found.one_off["name"].to_list() == [name]
        assert found.top["name"].to_list() == ["aclnnMul"]
        assert found.apis.height == 2

    @pytest.mark.parametrize(
        "name", ["aclopCompileAndExecute", "aclrtSetCurrentContext", "InferShape", "Tiling"]
    )
    def test_recurring_apis_are_not_taken_for_one_off(self, name: str) -> None:
        assert host(("acl", name, 1, 999)).one_off.is_empty()

    def test_watched_calls_are_shown_however_short(self) -> None:
        longer = [("acl", f"aclnnLong{number}", 1, 100) for number in range(15)]
        watched = [
            ("model", "ModelExecute", 1, 2),
            ("acl", "aclrtSynchronizeStreamWithTimeout", 1, 1),
            ("acl", "aclrtMemcpyAsync", 1, 2),
        ]
        found = host(*longer, *watched, ("acl", "aclrtSynchronizeDevice", 1, 1))
        assert found.watched["name"].to_list() == [
            "aclrtMemcpyAsync",
            "aclrtSynchronizeStreamWithTimeout",
            "ModelExecute",
        ]
        assert not set(found.watched["name"]) & set(found.top["name"])

    def test_text_columns_are_strings(self) -> None:
        assert pl.Categorical not in host(*INFERENCE).apis.dtypes


class TestCompileIteration:
    def test_totals_divide_by_all_recorded_iterations(self) -> None:
        found = find_host(statistic(("model", "ModelExecute", 4, 400)), iterations(3, excluded=99), None)
        assert found.apis["per_iteration_ns"].to_list() == [100_000]
        assert found.includes_compile
        assert not host(*INFERENCE).includes_compile


class TestUnknownIterations:
    @pytest.mark.parametrize("source", ["whole_run", "single", "sync_count"])
    def test_limits_per_iteration_are_not_judged(self, source: str) -> None:
        rows = statistic(("acl", "aclrtSynchronizeStream", 500, 900_000), ("node", "launch", 5000, 5000))
        run = Iterations(1, source, source == "sync_count", None, None, None, None)
        assert [verdict.flagged for verdict in find_host(rows, run, True).verdicts] == [None, None]


class TestStreamSync:
    @pytest.mark.parametrize(
        ("calls", "us", "flagged"),
        [
            (20, 200_000, False),
            (21, 1, True),
            (1, 200_001, True),
            (1, 200_000, False),
        ],
    )
    def test_limits_are_per_iteration(self, calls: int, us: int, flagged: bool) -> None:
        found = verdict(host(("acl", "aclrtSynchronizeStream", calls, us), count=2), "stream_sync")
        assert (found.calls_per_iteration, found.flagged) == (calls / 2, flagged)

    def test_acl_level_is_preferred_and_never_added_to_runtime(self) -> None:
        found = verdict(
            host(
                ("acl", "aclrtSynchronizeStream", 4, 40),
                ("acl", "aclrtSynchronizeStreamWithTimeout", 2, 20),
                ("runtime", "StreamSynchronize", 8, 90),
            ),
            "stream_sync",
        )
        assert (found.level, found.calls_per_iteration, found.total_per_iteration_ns) == ("acl", 6, 60_000)
        assert found.avg_ns == 10_000

    def test_runtime_counts_where_acl_has_none(self) -> None:
        found = verdict(host(*INFERENCE, count=3), "stream_sync")
        assert (found.level, found.calls_per_iteration, found.avg_ns) == ("runtime", 1, 250_000)

    def test_device_synchronisation_is_not_a_stream_synchronisation(self) -> None:
        found = verdict(host(("acl", "aclrtSynchronizeDevice", 50, 1)), "stream_sync")
        assert (found.level, found.calls_per_iteration, found.avg_ns, found.flagged) == (None, 0, None, False)

    def test_nothing_is_said_where_its_levels_were_not_collected(self) -> None:
        assert [found.kind for found in host(("node", "launch", 1, 1)).verdicts] == ["short_launches"]


class TestShortLaunches:
    @pytest.mark.parametrize(
        ("calls", "us", "dispatch_bound", "flagged"),
        [
            (2000, 100_000, True, True),
            (1999, 1_000, True, False),
            (2000, 100_001, True, False),
            (2000, 100_000, False, False),
            (2000, 100_000, None, None),
            (1999, 1_000, None, False),
        ],
    )
    def test_many_short_launches_while_dispatch_bound(
        self, calls: int, us: int, dispatch_bound: bool | None, flagged: bool | None
    ) -> None:
        found = host(("node", "launch", calls, us), count=2, dispatch_bound=dispatch_bound)
        assert verdict(found, "short_launches").flagged is flagged

    def test_runtime_launches_count_only_without_node_level(self) -> None:
        runtime = [("runtime", "KernelLaunch", 3, 30), ("runtime", "KernelLaunchWithHandle", 1, 10)]
        assert verdict(host(*runtime), "short_launches").calls_per_iteration == 4
        assert verdict(host(*runtime, ("node", "launch", 7, 7)), "short_launches").calls_per_iteration == 7


SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.real
class TestFiles:
    def test_example_gives_the_expected_averages_at_level_model(self) -> None:
        paths = sorted(
            SHARED.glob("examples/inference_msprof/PROF*/mindstudio_profiler_output/api_statistic_*.csv")
        )
        if not paths:
            pytest.skip("the shared examples are not beside the repository")
        read = read_table("api_statistic", SourceFile("api_statistic", (paths[0],)), root=SHARED)
        found = find_host(read, iterations(3), None).apis.filter(pl.col("level") == "model")
        assert found.select("name", "per_iteration_ns").rows() == [
            ("ModelExecute", 300_000),
            ("InputCopy", 50_000),
            ("OutputCopy", 20_000),
        ]

    def test_genuine_capture_keeps_its_one_off_calls_apart(self) -> None:
        paths = sorted(SHARED.glob("data/msprof_groupedmatmul/PROF_Memory/PROF*/*/api_statistic_*.csv"))
        if not paths:
            pytest.skip("the genuine captures are not beside the repository")
        read = read_table("api_statistic", SourceFile("api_statistic", (paths[0],)), root=SHARED)
        found = find_host(read, iterations(), None)
        assert found.one_off["name"].to_list() == [
            "aclrtCreateStreamWithConfig",
            "aclrtDestroyStreamForce",
            "aclrtSetOpExecuteTimeOutV2",
            "aclrtBinaryLoadFromData",
            "aclrtSetDevice",
            "aclrtSetStreamFailureMode",
            "aclrtResetDevice",
        ]
        assert found.apis.height == 24
