"""What the report draws: the part of an analysis that its chapters need, and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.copies import Copies
    from analysis.custom_operators import CustomOperators
    from analysis.finding import Finding
    from analysis.host import Host
    from analysis.host_operators import HostOperators
    from analysis.metrics import CoreMetrics
    from analysis.notes import Missing, Note
    from analysis.operators import Extra, Operators
    from analysis.options import Options
    from analysis.phases.results import Phases, StepTree
    from analysis.profile.discover import Capture, Profile
    from analysis.profile.metadata import Cores, Metadata
    from analysis.scenario import Scenario
    from analysis.trace.summary import TraceSummary


class ReportedFile(Protocol):
    """One file of the capture and what became of it."""

    @property
    def kind(self) -> str:
        """A file kind, such as kernel_details or trace_view."""

    @property
    def path(self) -> str:
        """Relative to the profile."""

    @property
    def rows(self) -> int | None:
        """Rows read; None where the file was not read as a table."""

    @property
    def state(self) -> str:
        """read, listed, passed_over or failed."""

    @property
    def note(self) -> str | None:
        """Message key that explains the state, if it needs explaining."""


class MissingKind(Protocol):
    """A file kind the capture does not hold."""

    @property
    def kind(self) -> str:
        """The file kind; what its absence costs is the message ``cost.<kind>``."""

    @property
    def needed_for(self) -> tuple[str, ...]:
        """Sections that lose something."""

    @property
    def hint(self) -> str:
        """The collection setting that produces it is the message ``collect.<hint>``."""


class ReportSource(Protocol):
    """One capture, analysed; :class:`analysis.result.Analysis` is one."""

    @property
    def profile(self) -> Profile:
        """Everything below the path the user gave."""

    @property
    def capture(self) -> Capture:
        """The capture the numbers are of."""

    @property
    def options(self) -> Options:
        """What the user said beside the profile."""

    @property
    def metadata(self) -> Metadata:
        """What the collection says about itself."""

    @property
    def cores(self) -> Cores:
        """Physical cores of the device."""

    @property
    def scenario(self) -> Scenario:
        """Stack, training or inference, mode, shapes, fusion."""

    @property
    def metrics(self) -> CoreMetrics:
        """Iterations, named times, step decomposition."""

    @property
    def operators(self) -> Operators | Missing:
        """The operator tables."""

    @property
    def host(self) -> Host | Missing:
        """The host API tables."""

    @property
    def host_operators(self) -> HostOperators | Missing:
        """The framework operators of the trace."""

    @property
    def custom_operators(self) -> CustomOperators | Missing:
        """Kernels of custom operators, of the trace."""

    @property
    def extras(self) -> tuple[Extra, ...]:
        """What to look at in training operators, as far as known."""

    @property
    def copies(self) -> Copies | Missing:
        """Copies between host and device, of the trace."""

    @property
    def phases(self) -> Phases | Missing:
        """Phases of the training steps, waits, pairs, prefetching."""

    def call_tree(self, step: int | None) -> StepTree | Missing:
        """What one step calls, in the order it does; None is the step nearest to the mean one."""

    def aten_tree(self, step: int | None) -> StepTree | Missing:
        """The same by time; None is the mean over the averaged steps."""

    @property
    def trace_summary(self) -> TraceSummary | Missing:
        """What the trace holds and what is wrong with it."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What stands out, worst first."""

    @property
    def files(self) -> Sequence[ReportedFile]:
        """All files found."""

    @property
    def missing(self) -> Sequence[MissingKind]:
        """The file kinds that would add something."""

    @property
    def notes(self) -> Sequence[Note]:
        """Remarks on data quality and on how numbers came about."""

    @property
    def damaged(self) -> bool:
        """Whether part of the input was lost to damage."""
