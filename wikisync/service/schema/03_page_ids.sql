CREATE TABLE page_id (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,
    owner_id INTEGER NOT NULL, slug TEXT NOT NULL, UNIQUE (kind, owner_id, slug)
) STRICT;
CREATE TRIGGER project_page_ids AFTER DELETE ON project BEGIN
    DELETE FROM page_id WHERE kind = 'project' AND owner_id = old.id;
END;
