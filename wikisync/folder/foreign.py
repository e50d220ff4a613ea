"""Names that other programs and systems give to what they keep in a folder.  Pure.

One list for all of wikisync, which the page ``folder/other-programs`` of the guide
shows; ``ignore`` asks it.  A name is on it only where no wiki has pages of its own in
such a folder: ``trash``, ``backup``, ``build``, ``vendor`` and ``Recycle Bin`` are not.
"""

from typing import NamedTuple


class Folders(NamedTuple):
    """Folders of one kind."""

    who: str
    """Who makes them, as the subject of a sentence."""
    names: tuple[str, ...]
    """Patterns of the shell; of two names with ``/``, the first one has the second."""
    folds_case: bool = False
    """Whether who makes them takes upper and lower case for the same."""


class Names(NamedTuple):
    """Names of files that one program gives."""

    who: str
    pattern: str
    """A regular expression for the whole name; of a copy, for its stem or its end."""
    example: str
    is_sure: bool = True
    """False where people give such names as well, so that the texts must be alike."""


class Stubs(NamedTuple):
    """Files that one program leaves in the place of others."""

    who: str
    endings: tuple[str, ...]
    """What comes behind the name of the other file; a dot may come in front of it."""
    of_folders: bool = False
    """Whether the other one may be a folder, or have a name without a dot."""
    of_pages: bool = False
    """Whether people make such files of anything else, too."""
    drops_extension: bool = False
    """Whether it may come in the place of the other file's extension."""


FOLDERS = (
    Folders(
        "a Synology NAS",
        ("#recycle", "#snapshot", "@eaDir", "@sharebin", "@tmp"),
        folds_case=True,
    ),
    Folders(
        "a QNAP NAS", ("@Recycle", "@Recently-Snapshot", "@__thumb"), folds_case=True
    ),
    Folders("a Buffalo NAS", ("trashbox",)),
    Folders("a file server", ("~snapshot", "@GMT-*.*.*-*.*.*", "lost+found")),
    Folders(
        "macOS or a file server for it",
        (
            "Network Trash Folder",
            "Temporary Items",
            "TheFindByContentFolder",
            "TheVolumeSettingsFolder",
        ),
    ),
    # TextEdit and its like save beside a file first
    Folders("macOS", ("__MACOSX", "*.sb-????????-??????"), folds_case=True),
    Folders(
        "Windows",
        (
            "$RECYCLE.BIN",
            "System Volume Information",
            "FOUND.[0-9][0-9][0-9]",
            "$WINDOWS.~*",
            "$SysReset",
            "$WinREAgent",
            "$GetCurrent",
            "Config.Msi",
            "DfsrPrivate",
        ),
        folds_case=True,
    ),
    # in other cases these are words
    Folders("Windows", ("RECYCLER", "RECYCLED", "Recycled")),
    Folders(
        "Python",
        (
            "__pycache__",
            "__pypackages__",
            "venv",
            "site-packages",
            "*.egg-info",
            "*.dist-info",
        ),
    ),
    Folders(
        "a package manager",
        ("node_modules", "bower_components", "jspm_packages", "vendor/bundle"),
        folds_case=True,
    ),
    Folders("Logseq", ("logseq/bak", "logseq/version-files"), folds_case=True),
    Folders("NotePlan", ("@Trash",)),
    Folders("VNote", ("vx_recycle_bin", "_v_recycle_bin")),
    Folders("a sync program", ("_gsdata_", "_SYNCAPP")),
    Folders("darcs", ("_darcs",)),
    Folders("CVS", ("CVS",)),
)
"""Bins, snapshots, caches and packages; those with a dot in front are hidden anyway."""

FILES = (
    Names("Windows", r"thumbs\.db|ehthumbs(?:_vista)?\.db|desktop\.ini", "Thumbs.db"),
    Names("macOS", r"icon\r", r"Icon\r"),
    Names("a Synology NAS", r".*@syno(?:eastream|resource)", "home.md@SynoEAStream"),
    Names("a download", r".*\.(?:tmp|part|crdownload)", "a.part"),
    Names("JetBrains", r".*___jb_(?:tmp|old)___", "home.md___jb_tmp___"),
    Names("Nextcloud", r".*\.~[0-9a-f]+", "home.md.~1a2b"),
)
"""Files that are nobody's pages or pictures; nothing is said of them."""

_WORDS = (
    "conflict|konflikt|conflit|motstrid|modstrid|конфл"
    "|競合|冲突|衝突|충돌|ขัดแย้ง|bercanggah"
)
_INSIDE = r"[^()\[\]（）【】]*"
_DATE = r"\d{4}-?\d\d-?\d\d"

COPIES = (
    Names(
        "Syncthing",
        r"(?i).+\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?",
        "home.sync-conflict-20240101-120000-ABCDEF7.md",
    ),
    Names(
        "a cloud drive",
        r"(?i).+ ?\([^()]*(?:conflicted copy|in Konflikt stehende Kopie"
        r"|copie en conflit|copia en conflicto|copia in conflitto|cópia em conflito"
        r"|conflicterend exemplaar|kopia powodująca konflikt|konfliktkopia"
        r"|kopia w konflikcie|çakışan kopya"
        r"|конфликтующая копия|конфліктна копія|競合コピー|冲突副本|衝突複本"
        r"|충돌된 복사본|case clash|(?:case|unicode encoding|white ?space"
        r"|selective sync) conflict)[^()]*(?:\(\d+\))?\).*",
        "home (Ann's conflicted copy 2024-01-01).md",
    ),
    Names("ownCloud", r".+_conflict-\d{8}-\d{6}", "home_conflict-20240101-120000.md"),
    Names(
        "Seafile",
        r".+ \(SFConflict [^()]*\)",
        "home (SFConflict ann@example.com 2024-01-01-12-00-00).md",
    ),
    Names(
        "Synology Drive",
        r".+_[A-Z][a-z]{2}-\d\d-\d{4,6}-\d{4}_[A-Za-z]*Conflict(?:_\d+)?",
        "home_ANN-PC_Jan-03-0901-2024_Conflict.md",
    ),
    Names(
        "git mergetool",
        r".+[._](?:BASE|LOCAL|REMOTE|BACKUP)[._]\d+",
        "home_LOCAL_1234.md",
    ),
    Names("rclone", r".+\.(?:conflict\d+|\.path[12])", "home.conflict1.md"),
    Names(
        "Unison or Tresorit",
        rf".+ \(conflict(?: #\d+)?(?: on |, [^()]*, ){_DATE}\)",
        "home (conflict on 2024-01-01).md",
    ),
)
"""Copies of files that were changed in two places, known by the stem of their names."""

WEAK_COPIES = (
    Names(
        "a sync program",
        rf"(?i)[ _-]?[(\[（【]{_INSIDE}(?:{_WORDS}){_INSIDE}[)\]）】](?: ?\(\d+\))?",
        "home [conflicted].md",
    ),
    Names(
        "a sync program",
        r"[ ._-]+(?:gs_|[^ ]*[A-Z0-9][^ ]*[._-])?(?i:conflict(?:ed)?(?:[ ._-]copy)?)"
        r"(?:[ ._-]?[^ ]*\d[^ ]*)?|_冲突文件.*",
        "home-conflict.md",
        is_sure=False,
    ),
    Names(
        "OneDrive",
        r"-(?:DESKTOP|LAPTOP|WIN|MINWINPC)-[A-Z0-9]{4,12}(?:-\d+)?",
        "home-DESKTOP-AB12CD3.md",
    ),
    Names(
        "OneDrive",
        r"-(?:[A-Z0-9-]+-(?:PC|LAPTOP|MBP)"
        r"|[\w'’ -]*(?:MacBook|iMac|Mac[ -]mini|Mac[ -]Studio)[\w -]*)",
        "home-Anns-MacBook-Pro.md",
        is_sure=False,
    ),
    Names("iCloud Drive", r" (?:[2-9]|[1-9]\d)", "home 2.md", is_sure=False),
    Names(
        "MEGA, Google Drive or a browser",
        r" ?\([1-9]\d?\)",
        "home (1).md",
        is_sure=False,
    ),
    Names(
        "a file manager",
        r"(?i) (?:[-–—] )?(?:copy|kopie|copie|copia|cópia|kopia|kopi|kopya|копия|副本"
        r"|コピー)(?: \d\d?| \(\d\d?\))?|のコピー(?: \d\d?)?|的副本(?: \d\d?)?",
        "home - Copy.md",
        is_sure=False,
    ),
    Names(
        "a merge tool",
        r"\.orig(?:inal)?|\.(?:BASE|LOCAL|REMOTE|BACKUP)|~HEAD",
        "home.orig.md",
    ),
    Names("an editor", r"\.bak|~|\.~\d+~", "home.bak.md"),
    Names("osync or rclone", r"\.osync_backup|\.path[12]", "home.path1.md"),
)
"""The same for what such names have behind the stem of the original.  They are
copies only where the original is in the same folder: otherwise a person may call a page
so."""

COPY_OF = Names(
    "Google Drive",
    "(?i)(?:copy of|kopie von|copie de|copia de|cópia de) ",
    "Copy of home.md",
    is_sure=False,
)
"""The same for what such names have before the stem of the original."""

STUBS = (
    Stubs("iCloud Drive", ("icloud",), of_folders=True),
    Stubs("Nextcloud", ("nextcloud",), of_folders=True),
    Stubs("ownCloud", ("owncloud",), of_folders=True),
    Stubs("OpenCloud", ("opencloud",), of_folders=True),
    Stubs("odrive", ("cloud",)),
    Stubs("odrive", ("cloudf",), of_folders=True),
    Stubs("Resilio Sync", ("rsls", "rsl~", "bts")),
    Stubs("rclone", ("rclonelink",)),
    Stubs("DVC", ("dvc",), of_pages=True),
    Stubs("a shortcut", ("lnk", "url", "webloc", "desktop", "stub"), of_pages=True),
    Stubs(
        "an online office program",
        ("gdoc", "gsheet", "gslides", "odoc", "osheet", "oslides", "boxnote", "paper"),
        of_pages=True,
        drops_extension=True,
    ),
)
"""Files that stand for one whose content is kept elsewhere.  Besides, a file of at most
one byte stands for a page whose name is its own without the last ending: cloud programs
of one make have many names."""
