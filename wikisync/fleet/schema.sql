-- The tables of a fleet, made by `fleet init` in the operator's PostgreSQL.
CREATE TABLE IF NOT EXISTS fleet (
    number INTEGER PRIMARY KEY CHECK (number = 1), version INTEGER NOT NULL,
    settings JSONB NOT NULL, is_draining BOOLEAN NOT NULL DEFAULT false,
    listed_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    swept_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    asked_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    lister TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS fleet_wiki (
    key TEXT PRIMARY KEY, wiki JSONB NOT NULL, path TEXT NOT NULL,
    activity TEXT NOT NULL DEFAULT '', is_gone BOOLEAN NOT NULL DEFAULT false,
    hint_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    answered_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    begun_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    due_at TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    worker TEXT NOT NULL DEFAULT '', is_busy BOOLEAN NOT NULL DEFAULT false,
    claim BIGINT NOT NULL DEFAULT 0, generation BIGINT NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT '', place TEXT NOT NULL DEFAULT '',
    pages INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    listed TEXT NOT NULL DEFAULT '', problem TEXT NOT NULL DEFAULT '',
    is_halted BOOLEAN NOT NULL DEFAULT false,
    may_empty BOOLEAN NOT NULL DEFAULT false,
    links TEXT[], names TEXT[] NOT NULL DEFAULT '{}',
    former TEXT[] NOT NULL DEFAULT '{}');
CREATE INDEX IF NOT EXISTS fleet_wiki_due ON fleet_wiki (hint_at)
    WHERE hint_at > answered_at;
CREATE INDEX IF NOT EXISTS fleet_wiki_place ON fleet_wiki (place);
CREATE INDEX IF NOT EXISTS fleet_wiki_path ON fleet_wiki (path);
CREATE INDEX IF NOT EXISTS fleet_wiki_links ON fleet_wiki USING gin (links);
CREATE TABLE IF NOT EXISTS fleet_worker (
    name TEXT PRIMARY KEY, dead_s REAL NOT NULL, seen_at TIMESTAMPTZ NOT NULL);
