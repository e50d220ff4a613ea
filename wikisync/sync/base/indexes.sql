-- No part of the schema: a state file that lacks one of these gets it when it is opened.
CREATE INDEX IF NOT EXISTS history_of_step ON history (wiki, sync, slug);
CREATE INDEX IF NOT EXISTS history_removed ON history (wiki, sync, was) WHERE after = '';
CREATE INDEX IF NOT EXISTS history_replaced ON history (wiki, slug, id)
    WHERE written NOT NULL;
CREATE INDEX IF NOT EXISTS own_write_by_age ON own_write (wiki, at)
