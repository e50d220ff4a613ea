"""``wikisync approve``: let what a safety stop holds go ahead."""

from wikisync.cli.batches import decision_command
from wikisync.sync.decide.safety import Decision

command = decision_command(
    "approve",
    Decision.APPROVED,
    """Approve a batch that was held because it deletes or changes many pages.

    BATCH is FOLDER:ID as shown by `wikisync status`, or the ID alone if it is unique.
    The approval covers exactly the texts in the batch; later edits need a new approval.
    """,
)
