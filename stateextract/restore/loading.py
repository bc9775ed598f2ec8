"""Reading the head of an old state file against the new job's classes: every snapshot in it, declared or not.

One class, enum constant or registered class that is gone refuses the whole operator, before any state is compared. What
cannot be known without the new job's class files is reported once for each class.
"""

from __future__ import annotations

from typing import Final

from serializers.avro import AVRO_SNAPSHOTS
from serializers.pojo import POJO_SNAPSHOT
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot
from serializers.tuples import ENUM_SNAPSHOT
from stateextract.outcome import Verdict
from stateextract.restore.answers import Findings, Phase, Release
from stateextract.restore.job_classes import JobClasses, is_library
from stateextract.restore.kryo_rules import GONE_IN_2
from stateextract.restore.pojo_rules import subclass_snapshots
from stateextract.restore.removed import removed_class

_PUT_BACK: Final = "put the class back, if only for the restore, or take the state out with extract first"


class Loader:
    """Looks for what of a snapshot cannot be loaded.

    :param new: classes of the new job; ``None``: not given.
    :param same_job: the new job has the classes of the old one.
    :param named: classes that the new job's snapshot names, so that they are there.
    """

    def __init__(
        self,
        release: Release | None,
        new: JobClasses | None,
        named: frozenset[str],
        findings: Findings,
        same_job: bool = False,
    ) -> None:
        self.release = release
        self.new = new
        self.named = named
        self.findings = findings
        self.same_job = same_job

    def load(self, snapshot: SerializerSnapshot, at: str, inside: str = "") -> None:
        """Look at a snapshot and all that is nested in it.

        :param inside: how Flink fails if this one cannot be loaded, where another holds it.
        """
        self._of_release(snapshot)
        details = snapshot.details
        if snapshot.class_name == POJO_SNAPSHOT and not snapshot.is_unknown:
            self._class(details["class"], at, inside)
            for field, nested in zip(details["fields"], snapshot.nested, strict=False):
                self.load(
                    nested, f"{at}.{field}", "IllegalStateException: field serializer snapshots should be present"
                )
            for name, nested in subclass_snapshots(snapshot).items():
                missing = f"IllegalStateException: Missing key '{name}'"
                self._class(name, f"{at} ({name})", missing)
                self.load(nested, f"{at} ({name})", missing)
            return
        if snapshot.class_name == KRYO_SNAPSHOT:
            self._kryo(snapshot, at, inside)
        elif snapshot.class_name in AVRO_SNAPSHOTS:
            self._avro(snapshot, at)
        elif isinstance(details.get("class"), str) and not snapshot.is_unknown:
            self._class(details["class"], at, inside)
        if snapshot.class_name == ENUM_SNAPSHOT and not snapshot.is_unknown:
            self._constants(snapshot, at, inside)
        for nested in snapshot.nested:
            self.load(nested, at, inside)

    def _refused(self, at: str, reason: str, inside: str, advice: str) -> None:
        text = f"{at}: {reason}" + (f" ({inside})" if inside else "")
        self.findings.add(Verdict.REFUSED, Phase.RESTORE, text, advice)

    def has(self, name: str) -> bool | None:
        """Whether the new job has a class; ``None``: not known."""
        if self.same_job or is_library(name) or name in self.named or ("." not in name and name.islower()):
            return True
        return None if self.new is None else self.new.has(name)

    def _class(self, name: str, at: str, inside: str) -> None:
        if not name or ("[" in name and name.lstrip("[")[:1] != "L") or " " in name:
            return  # an array of primitives, or the code of a Scala collection
        plain = name.lstrip("[").removeprefix("L").removesuffix(";") if name.startswith("[") else name
        known = self.has(plain)
        if known is False:
            self._refused(at, f"IOException: Could not find class '{plain}' in classpath", inside, _PUT_BACK)
        elif known is None:
            self.findings.add(
                Verdict.UNKNOWN, Phase.RESTORE,
                f"{at}: whether the new job still has the class {plain} is not known; without it nothing of the operator "
                "restores", "give the new job's jar, --classpath",
            )  # fmt: skip

    def _constants(self, snapshot: SerializerSnapshot, at: str, inside: str) -> None:
        model = None if self.new is None else self.new.model(snapshot.details["class"])
        if model is None or model.kind != "enum":
            return
        gone = [constant for constant in snapshot.details["constants"] if constant not in model.constants]
        if gone:
            reason = (
                f"IllegalStateException: could not create a restore serializer for enum class {model.name}: "
                f"{', '.join(gone)} is gone, whether in use or not"
            )
            self._refused(at, reason, inside, "put the constant back")

    def _kryo(self, snapshot: SerializerSnapshot, at: str, inside: str) -> None:
        self._class(snapshot.details["class"], at, inside)
        for name, data in snapshot.details.get("registrations", ()):
            if GONE_IN_2 in data:
                if self.release is None:
                    self.findings.unknown(
                        at, "Flink 1 registered Avro with Kryo, which Flink 2 refuses", "give --flink"
                    )
                elif self.release.major >= 2:
                    self._refused(
                        at,
                        f"IllegalStateException: Missing value for the key '{name}': Flink 1 wrote the state with flink-avro "
                        "on its class path, and Flink 2 has not the serializer that was registered for it",
                        inside,
                        "take a savepoint with Flink 1 without flink-avro in lib, or take the state out with extract",
                    )
            elif name != snapshot.details["class"]:
                self._class(name, at, f"IllegalStateException: Missing value for the key '{name}'")

    def _avro(self, snapshot: SerializerSnapshot, at: str) -> None:
        name = snapshot.details["class"]
        if name and self.has(name) is False:
            self.findings.unknown(
                at,
                f"the Avro class {name} is gone; Flink reads its values as generic records then",
                "put the class back",
            )

    def _of_release(self, snapshot: SerializerSnapshot) -> None:
        """Snapshot classes, and classes of values, that Flink 2 no longer has."""
        names = [snapshot.class_name, snapshot.details.get("class"), *dict(snapshot.details.get("registrations", ()))]
        if snapshot.class_name.endswith("ConfigSnapshot"):
            self._not_in_2(
                f"{snapshot.class_name}: a serializer snapshot of a release before Flink 1.8, which Flink 2 does not read", ""
            )
        for name in names:
            removed = removed_class(name) if isinstance(name, str) else None
            if removed is not None:
                self._not_in_2(f"{name}: Flink 2 does not have {removed.what}", removed.instead)

    def _not_in_2(self, reason: str, instead: str) -> None:
        if self.release is None:
            self.findings.add(Verdict.UNKNOWN, None, reason, "give --flink")
        elif self.release.major >= 2:
            advice = "take the state out with extract, and fill the state of the new job from there"
            advice = f"use {instead} in the new job; {advice}" if instead else advice
            text = f"IOException: Could not find class in classpath: {reason}"
            self.findings.add(Verdict.REFUSED, Phase.RESTORE, text, advice)
