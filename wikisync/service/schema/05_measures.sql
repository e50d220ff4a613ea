-- 0 for no, 1 for yes, 2 for one that is being measured
CREATE INDEX IF NOT EXISTS project_measuring ON project (id) WHERE is_measured = 2;
