-- what is asked for in lists has a column, all other attributes are one object,
-- and gone_project keeps the ids of what is gone, so that none is used twice
CREATE TABLE user (
    id INTEGER PRIMARY KEY, username TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL, email TEXT NOT NULL, is_admin INTEGER NOT NULL DEFAULT 0,
    is_blocked INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL,
    has_private_profile INTEGER NOT NULL DEFAULT 0,
    projects_limit INTEGER NOT NULL DEFAULT 100000
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
    updated_at TEXT NOT NULL, last_activity_at TEXT NOT NULL,
    issues_access_level TEXT NOT NULL DEFAULT 'enabled',
    merge_requests_access_level TEXT NOT NULL DEFAULT 'enabled',
    is_hidden INTEGER NOT NULL DEFAULT 0,
    is_going INTEGER NOT NULL DEFAULT 0,
    marked_on TEXT,
    forked_from INTEGER,
    repository_storage TEXT NOT NULL DEFAULT 'default',
    default_branch TEXT,
    readme TEXT,
    license TEXT,
    license_key TEXT,
    avatar TEXT,
    import_status TEXT NOT NULL DEFAULT 'none',
    import_type TEXT,
    import_url TEXT,
    import_branch TEXT,
    import_error TEXT,
    runners_token TEXT,
    commit_count INTEGER NOT NULL DEFAULT 0,
    repository_size INTEGER NOT NULL DEFAULT 0,
    wiki_size INTEGER NOT NULL DEFAULT 0,
    uploads_size INTEGER NOT NULL DEFAULT 0,
    storage_size INTEGER NOT NULL DEFAULT 0,
    -- 0 for no, 1 for yes, 2 for one that is being measured
    is_measured INTEGER NOT NULL DEFAULT 0,
    repository_checksum_failed INTEGER NOT NULL DEFAULT 0,
    wiki_checksum_failed INTEGER NOT NULL DEFAULT 0,
    search TEXT NOT NULL DEFAULT '',
    attributes TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX project_namespace ON project (namespace_id);
CREATE TABLE membership (
    user_id INTEGER NOT NULL REFERENCES user, kind TEXT NOT NULL,
    target_id INTEGER NOT NULL, access_level INTEGER NOT NULL, expires_on TEXT,
    PRIMARY KEY (user_id, kind, target_id)
) STRICT;
CREATE INDEX namespace_user ON namespace (user_id);
CREATE INDEX membership_target ON membership (kind, target_id);
CREATE TRIGGER project_added AFTER INSERT ON project BEGIN
    UPDATE project SET search = fold_search(path, name, description),
        runners_token = 'GR1348941' || lower(hex(randomblob(10)))
    WHERE id = new.id;
END;
CREATE TRIGGER project_renamed AFTER UPDATE OF path, name, description ON project
BEGIN
    UPDATE project SET search = fold_search(path, name, description)
    WHERE id = new.id;
END;
CREATE INDEX project_created ON project (created_at, id, visibility, namespace_id,
    is_going, is_hidden, is_archived, updated_at, last_activity_at, search);
CREATE INDEX project_updated ON project (updated_at, id, visibility, namespace_id,
    is_going, is_hidden, is_archived);
CREATE INDEX project_active ON project (last_activity_at, id, visibility,
    namespace_id, is_going, is_hidden, is_archived);
CREATE INDEX project_name ON project (name, id, visibility, namespace_id,
    is_going, is_hidden, is_archived);
CREATE INDEX project_path ON project (path, id, visibility, namespace_id,
    is_going, is_hidden, is_archived);
CREATE INDEX project_creator ON project (creator_id) WHERE import_type IS NOT NULL;
CREATE INDEX project_archived ON project (created_at, id, visibility,
    namespace_id, is_going, is_hidden) WHERE is_archived = 1;
CREATE INDEX project_visibility ON project (visibility, created_at, id,
    namespace_id, is_going, is_hidden, is_archived, updated_at, last_activity_at,
    search);
CREATE INDEX project_fork ON project (forked_from) WHERE forked_from IS NOT NULL;
CREATE INDEX project_marked ON project (marked_on) WHERE marked_on IS NOT NULL;
CREATE INDEX project_importing ON project (id)
    WHERE import_status IN ('scheduled', 'started');
CREATE INDEX project_unmeasured ON project (id) WHERE is_measured = 0;
CREATE INDEX project_broken ON project (id) WHERE repository_checksum_failed = 1;
CREATE INDEX project_broken_wiki ON project (id) WHERE wiki_checksum_failed = 1;
CREATE INDEX project_storage ON project (repository_storage)
    WHERE repository_storage <> 'default';
CREATE TABLE gone_project (
    id INTEGER PRIMARY KEY, full_path TEXT NOT NULL, gone_at TEXT NOT NULL
) STRICT;
CREATE TABLE old_path (
    full_path TEXT PRIMARY KEY COLLATE NOCASE,
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE
) STRICT;
CREATE INDEX old_path_project ON old_path (project_id);
CREATE TABLE star (
    user_id INTEGER NOT NULL REFERENCES user,
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    starred_since TEXT NOT NULL, PRIMARY KEY (user_id, project_id)
) STRICT;
CREATE INDEX star_project ON star (project_id, starred_since);
CREATE TABLE share (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    group_id INTEGER NOT NULL REFERENCES namespace, access_level INTEGER NOT NULL,
    expires_on TEXT, created_at TEXT NOT NULL, UNIQUE (project_id, group_id)
) STRICT;
CREATE INDEX share_group ON share (group_id);
CREATE TABLE topic (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE
) STRICT;
CREATE TABLE project_topic (
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    topic_id INTEGER NOT NULL REFERENCES topic, position INTEGER NOT NULL,
    PRIMARY KEY (project_id, topic_id)
) STRICT;
CREATE INDEX project_topic_topic ON project_topic (topic_id, project_id);
CREATE TABLE custom_attribute (
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (project_id, key)
) STRICT;
CREATE INDEX custom_attribute_value ON custom_attribute (key, value);
CREATE TABLE language (
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    name TEXT NOT NULL COLLATE NOCASE, share REAL NOT NULL,
    PRIMARY KEY (project_id, name)
) STRICT;
CREATE INDEX language_name ON language (name, project_id);
CREATE TABLE upload (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    secret TEXT NOT NULL UNIQUE, name TEXT NOT NULL, size INTEGER NOT NULL,
    user_id INTEGER NOT NULL REFERENCES user, created_at TEXT NOT NULL
) STRICT;
CREATE INDEX upload_project ON upload (project_id);
CREATE TABLE contribution (
    user_id INTEGER NOT NULL REFERENCES user,
    project_id INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    last_at TEXT NOT NULL, PRIMARY KEY (user_id, project_id)
) STRICT;
CREATE INDEX contribution_project ON contribution (project_id);
CREATE TABLE page_id (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,
    owner_id INTEGER NOT NULL, slug TEXT NOT NULL, UNIQUE (kind, owner_id, slug)
) STRICT;
CREATE TRIGGER project_page_ids AFTER DELETE ON project BEGIN
    DELETE FROM page_id WHERE kind = 'project' AND owner_id = old.id;
END;
CREATE INDEX project_measuring ON project (id) WHERE is_measured = 2;
CREATE TABLE gone_namespace (
    id INTEGER PRIMARY KEY, full_path TEXT NOT NULL, gone_at TEXT NOT NULL
) STRICT;
CREATE TABLE comment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    page_id INTEGER NOT NULL REFERENCES page_id ON DELETE CASCADE,
    author_id INTEGER NOT NULL REFERENCES user, body TEXT NOT NULL,
    is_internal INTEGER NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX comment_page ON comment (page_id);
