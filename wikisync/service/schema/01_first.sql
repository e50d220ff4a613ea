CREATE TABLE user (
    id INTEGER PRIMARY KEY, username TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL, email TEXT NOT NULL, is_admin INTEGER NOT NULL DEFAULT 0,
    is_blocked INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL
) STRICT;
CREATE TABLE token (
    id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES user,
    name TEXT NOT NULL, digest TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL,
    created_at TEXT NOT NULL, expires_on TEXT, is_revoked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE namespace (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, parent_id INTEGER REFERENCES namespace,
    user_id INTEGER REFERENCES user, path TEXT NOT NULL,
    full_path TEXT NOT NULL UNIQUE COLLATE NOCASE, name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '', visibility TEXT NOT NULL,
    wiki_access_level TEXT NOT NULL DEFAULT 'enabled', created_at TEXT NOT NULL
) STRICT;
CREATE INDEX namespace_parent ON namespace (parent_id);
CREATE TABLE project (
    id INTEGER PRIMARY KEY, namespace_id INTEGER NOT NULL REFERENCES namespace,
    path TEXT NOT NULL, full_path TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL, description TEXT, visibility TEXT NOT NULL,
    wiki_access_level TEXT NOT NULL DEFAULT 'enabled',
    is_archived INTEGER NOT NULL DEFAULT 0,
    creator_id INTEGER NOT NULL REFERENCES user, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL, last_activity_at TEXT NOT NULL
) STRICT;
CREATE INDEX project_namespace ON project (namespace_id);
CREATE TABLE membership (
    user_id INTEGER NOT NULL REFERENCES user, kind TEXT NOT NULL,
    target_id INTEGER NOT NULL, access_level INTEGER NOT NULL, expires_on TEXT,
    PRIMARY KEY (user_id, kind, target_id)
) STRICT;
