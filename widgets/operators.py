"""Pane 2: operators by type, top operators by shape, problem operators; down to every execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analysis.executions import KernelSelection, executions
from analysis.notes import Missing
from analysis.report.escape import visible
from analysis.report.tables import BY_CORE, BY_TYPE, COMMUNICATION, EXECUTIONS, PROBLEMS, TOP
from widgets.frame_table import Sort
from widgets.level import Level, Row, Story, arranged
from widgets.list_pane import ListPane, View, row_count
from widgets.safe_text import cut
from widgets.stories import exact_pairs, shape_lines

if TYPE_CHECKING:
    from rich.text import Text

    from analysis.report.messages import Messages
    from analysis.result import Analysis

_STORY_SHAPES = 12
"""Shape groups told in the detail of a type; Enter lists them all."""


class OperatorsPane(ListPane):
    """What costs the device time."""

    NAME = "operators"

    def show(self, analysis: Analysis) -> None:
        """Fill the lists."""
        operators = analysis.operators
        levels = _Levels(analysis)
        if isinstance(operators, Missing):
            self.set_views({"type": View("type", levels.absent(operators), None)})
            return
        views = {
            "type": View("type", levels.types(operators.by_type), row_count(operators.by_type)),
            "top": View("top", levels.groups(operators.top), row_count(operators.top)),
            "problems": View("problems", levels.problems(operators.problems), row_count(operators.problems)),
            "core": View("core", levels.cores(operators.by_core_type), row_count(operators.by_core_type)),
        }
        if operators.communication.height:
            communication = levels.communication(operators.communication)
            views["communication"] = View("communication", communication, operators.communication.height)
        self.set_views(views)

    def go_to(self, view: str, filter_text: str | None, row: Row | None = None) -> None:
        """Show a list; problems are asked for by their code and found by their words."""
        if view == "problems" and filter_text is not None:
            filter_text = self.messages.text(f"problem.{filter_text}")
        super().go_to(view, filter_text, row)


class _Levels:
    """The lists of this pane over one result."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        operators = analysis.operators
        shapes = operators if isinstance(operators, Missing) else operators.shapes
        self._shapes = None if isinstance(shapes, Missing) else shapes

    def absent(self, missing: Missing) -> Level:
        """No operator table at all."""
        return Level(lambda _: "", (), missing, lambda _row, _messages: Story())

    def types(self, frame: pl.DataFrame | Missing) -> Level:
        """Operators by type."""
        return Level(
            crumb=lambda messages: messages.text("view.operators.type"),
            columns=arranged(BY_TYPE, frame, "op_type", "core_type", *_FIRST_NUMBERS),
            frame=frame,
            story=self._type_story,
            opens=self._open_type,
            identity=("op_type", "core_type"),
            sort=_BY_TOTAL,
        )

    def _shapes_of(self, row: Row) -> pl.DataFrame | None:
        if self._shapes is None:
            return None
        return self._shapes.filter(*[pl.col(key).eq_missing(row[key]) for key in ("op_type", "core_type")])

    def _type_story(self, row: Row, messages: Messages) -> Story:
        names = [visible(row[key]) for key in ("op_type", "core_type") if row.get(key)]
        shapes = self._shapes_of(row)
        if shapes is None:
            return Story(" · ".join(names), exact_pairs(BY_TYPE, row, messages))
        groups = messages.text("story.shape_groups", {"count": f"{shapes.height:,}"})
        lines: list[str | Text] = []
        for shape in shapes.head(_STORY_SHAPES).iter_rows(named=True):
            lines += shape_lines(shape, messages)
        if shapes.height > _STORY_SHAPES:
            lines.append(messages.text("story.more_shapes", {"count": f"{shapes.height - _STORY_SHAPES:,}"}))
        return Story(" · ".join([*names, groups]), (), lines)

    def _open_type(self, row: Row) -> Level | None:
        shapes = self._shapes_of(row)
        if shapes is None or shapes.is_empty():
            return None
        crumb = " ".join(str(row[key]) for key in ("op_type", "core_type") if row.get(key))
        return self.groups(shapes, crumb=crumb, fixed=("op_type", "core_type"))

    def groups(
        self, frame: pl.DataFrame | Missing, crumb: str | None = None, fixed: tuple[str, ...] = ()
    ) -> Level:
        """Operators by shape: all of them, or those of one type and core, which are then ``fixed``."""
        found = arranged(TOP, frame, "op_type", "name", "input_shapes", *_FIRST_NUMBERS)
        columns = tuple(column for column in found if column.key not in fixed)
        return Level(
            crumb=lambda messages: messages.text("view.operators.top") if crumb is None else visible(crumb),
            columns=columns,
            frame=frame,
            story=lambda row, messages: Story(_title(row), exact_pairs(TOP, row, messages)),
            opens=lambda row: self._executions(
                row,
                (*(fixed or ("op_type",)), "input_shapes", "input_dtypes")
                if row.get("op_type")
                else ("name",),
            ),
            identity=("op_type", "name", "input_shapes", "input_dtypes"),
            sort=_BY_TOTAL,
        )

    def problems(self, frame: pl.DataFrame | Missing) -> Level:
        """Problem operators."""
        keys = ("name", "op_type", "core_type", "input_shapes", "output_shapes")
        return Level(
            crumb=lambda messages: messages.text("view.operators.problems"),
            columns=arranged(PROBLEMS, frame, "problem", "op_type", "total_ns", "share", "value"),
            frame=frame,
            story=_problem_story,
            opens=lambda row: self._executions(row, keys, problem=row["problem"]),
            identity=("problem", *keys),
            sort=_BY_TOTAL,
            empty="level.no_problems",
        )

    def cores(self, frame: pl.DataFrame | Missing) -> Level:
        """Operator time by kind of core."""
        return Level(
            crumb=lambda messages: messages.text("view.operators.core"),
            columns=arranged(BY_CORE, frame),
            frame=frame,
            story=lambda row, messages: Story(str(row["core_type"]), exact_pairs(BY_CORE, row, messages)),
            opens=lambda row: self._executions(row, ("core_type",)),
            identity=("core_type",),
            sort=_BY_TOTAL,
        )

    def communication(self, frame: pl.DataFrame) -> Level:
        """Communication operations, which are never added to computing."""
        return Level(
            crumb=lambda messages: messages.text("view.operators.communication"),
            columns=arranged(COMMUNICATION, frame, "op_type", *_FIRST_NUMBERS),
            frame=frame,
            story=lambda row, messages: Story(str(row["op_type"]), exact_pairs(COMMUNICATION, row, messages)),
            opens=lambda row: self._executions(row, ("op_type",), role="communication"),
            identity=("op_type",),
            sort=_BY_TOTAL,
        )

    def _executions(
        self, row: Row, keys: tuple[str, ...], *, problem: str | None = None, role: str = "compute"
    ) -> Level | None:
        kernels = self._analysis.averaged_kernels
        if isinstance(kernels, Missing):
            return None
        selection = KernelSelection(**{key: row[key] for key in keys}, problem=problem, role=role)
        named = " ".join(
            cut(str(row[key]), _CRUMB_CELLS) for key in _CRUMB_KEYS if row.get(key) and key in keys
        )
        crumb = named or _title(row)
        # Where the row fixes the shapes, every execution has the same; breadcrumb and story tell them.
        found = arranged(EXECUTIONS, None, *_FIRST_OF_EXECUTIONS)
        columns = tuple(column for column in found if column.key not in keys)
        return Level(
            crumb=lambda _: crumb,
            columns=columns,
            frame=lambda: executions(kernels, selection),
            story=lambda kernel, messages: Story(_title(kernel), exact_pairs(found, kernel, messages)),
            identity=("row",),
        )


_CRUMB_KEYS = ("name", "core_type", "input_shapes")
_CRUMB_CELLS = 28
_FIRST_NUMBERS = ("count", "total_ns", "share", "avg_ns", "max_ns")
_FIRST_OF_EXECUTIONS = (
    "op_type",
    "step",
    "offset_ns",
    "duration_ns",
    "wait_ns",
    "stream",
    "block_num",
    "input_shapes",
)
_BY_TOTAL = Sort("total_ns", descending=True)


def _title(row: Row) -> str:
    return " · ".join(visible(str(row[key])) for key in ("op_type", "name", "core_type") if row.get(key))


def _problem_story(row: Row, messages: Messages) -> Story:
    why = messages.text(f"problem_why.{row['problem']}")
    return Story(
        f"! {messages.text('problem.' + row['problem'])} · {_title(row)}",
        exact_pairs(PROBLEMS, row, messages),
        [why],
    )
