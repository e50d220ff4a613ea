-- The tables of the state file.  Texts have a table of their own, so that reading the base
-- of ten thousand pages walks over no text.  Everything of a wiki goes with its row in
-- "wiki": one for each folder, under the path that its wiki has in wikisync.toml.
CREATE TABLE wiki (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    full_path TEXT NOT NULL,
    folder TEXT NOT NULL DEFAULT '',
    {fields} -- those of WikiMemory, as JSON
);
CREATE TABLE attachment (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    here TEXT NOT NULL DEFAULT '',
    version TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (wiki, path)
) WITHOUT ROWID;
CREATE TABLE page (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    format TEXT NOT NULL,
    local_digest TEXT NOT NULL,
    remote_digest TEXT NOT NULL,
    local_identity TEXT NOT NULL DEFAULT '',
    remote_identity TEXT NOT NULL DEFAULT '',
    size INTEGER,
    uploads TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE page_text (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    mentions TEXT NOT NULL DEFAULT '',
    text BLOB NOT NULL,
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE alias (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    path_slug TEXT NOT NULL,
    slug TEXT NOT NULL,
    PRIMARY KEY (wiki, path_slug)
) WITHOUT ROWID;
CREATE TABLE upload (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    upload TEXT NOT NULL,
    PRIMARY KEY (wiki, path, digest)
) WITHOUT ROWID;
CREATE TABLE intent (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    operation TEXT NOT NULL,
    slug TEXT NOT NULL,
    target TEXT NOT NULL,
    format TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    text BLOB NOT NULL,
    at REAL NOT NULL
);
-- texts that gave way, new pages and renames (see history.py)
CREATE TABLE history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    sync INTEGER NOT NULL DEFAULT 0,
    at REAL NOT NULL,
    slug TEXT NOT NULL,
    was TEXT NOT NULL,
    format TEXT NOT NULL,
    text BLOB NOT NULL,
    after TEXT NOT NULL,
    -- where a file here was replaced, else null
    written BLOB,
    is_stale INTEGER NOT NULL DEFAULT 0,
    is_written INTEGER NOT NULL DEFAULT 0,
    is_only INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX history_of_page ON history (wiki, slug, id);
CREATE INDEX history_of_sync ON history (wiki, sync);
CREATE INDEX history_of_step ON history (wiki, sync, slug);
CREATE INDEX history_removed ON history (wiki, sync, was) WHERE after = '';
CREATE INDEX history_replaced ON history (wiki, slug, id) WHERE written NOT NULL;
CREATE TABLE own_write (
    id INTEGER PRIMARY KEY,
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    at REAL NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX own_write_of_page ON own_write (wiki, slug);
CREATE INDEX own_write_by_age ON own_write (wiki, at);
CREATE TABLE event (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    is_warning INTEGER NOT NULL,
    slug TEXT NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (wiki, number)
) WITHOUT ROWID;
CREATE INDEX event_of_page ON event (wiki, slug, number);
CREATE INDEX event_by_age ON event (wiki, at);
CREATE TABLE conflict_file (
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    format TEXT NOT NULL,
    digest TEXT NOT NULL,
    at REAL NOT NULL,
    local BLOB NOT NULL,
    remote BLOB NOT NULL,
    wiki_digest TEXT NOT NULL,
    PRIMARY KEY (wiki, slug)
) WITHOUT ROWID;
CREATE TABLE workspace (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
-- asked in every cycle, and few texts mention an attachment
CREATE INDEX mentions_of_pages ON page_text (wiki, mentions) WHERE mentions <> '';
-- texts that pages had, by which a wiki that went back in time is known
CREATE TABLE earlier (
    id INTEGER PRIMARY KEY,
    wiki INTEGER NOT NULL REFERENCES wiki (id) ON DELETE CASCADE,
    slug TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE INDEX earlier_of_page ON earlier (wiki, slug, id);
