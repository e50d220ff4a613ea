"""``wikisync refuse``: keep what a safety stop holds from happening."""

from wikisync.cli.batches import decision_command
from wikisync.sync.decide.safety import Decision

command = decision_command(
    "refuse",
    Decision.REFUSED,
    """Reject a held batch; pages that it would delete are restored.

    BATCH is FOLDER:ID as shown by `wikisync status`, or the ID alone if it is unique.
    Rejected edits are not synced until their text changes.
    """,
)
