-- what is asked for in lists has a column, all other attributes are one object,
-- and gone_project keeps the ids of what is gone, so that none is used twice
ALTER TABLE user ADD COLUMN has_private_profile INTEGER NOT NULL DEFAULT 0;
ALTER TABLE user ADD COLUMN projects_limit INTEGER NOT NULL DEFAULT 100000;
CREATE INDEX namespace_user ON namespace (user_id);
CREATE INDEX membership_target ON membership (kind, target_id);
ALTER TABLE project ADD COLUMN issues_access_level TEXT NOT NULL DEFAULT 'enabled';
ALTER TABLE project
    ADD COLUMN merge_requests_access_level TEXT NOT NULL DEFAULT 'enabled';
ALTER TABLE project ADD COLUMN is_hidden INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN is_going INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN marked_on TEXT;
ALTER TABLE project ADD COLUMN forked_from INTEGER;
ALTER TABLE project ADD COLUMN repository_storage TEXT NOT NULL DEFAULT 'default';
ALTER TABLE project ADD COLUMN default_branch TEXT;
ALTER TABLE project ADD COLUMN readme TEXT;
ALTER TABLE project ADD COLUMN license TEXT;
ALTER TABLE project ADD COLUMN license_key TEXT;
ALTER TABLE project ADD COLUMN avatar TEXT;
ALTER TABLE project ADD COLUMN import_status TEXT NOT NULL DEFAULT 'none';
ALTER TABLE project ADD COLUMN import_type TEXT;
ALTER TABLE project ADD COLUMN import_url TEXT;
ALTER TABLE project ADD COLUMN import_branch TEXT;
ALTER TABLE project ADD COLUMN import_error TEXT;
ALTER TABLE project ADD COLUMN runners_token TEXT;
ALTER TABLE project ADD COLUMN commit_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN repository_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN wiki_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN uploads_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN storage_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN is_measured INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project
    ADD COLUMN repository_checksum_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN wiki_checksum_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN search TEXT NOT NULL DEFAULT '';
ALTER TABLE project ADD COLUMN attributes TEXT NOT NULL DEFAULT '{}';
UPDATE project SET search = fold_search(path, name, description),
    runners_token = 'GR1348941' || lower(hex(randomblob(10)));
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
