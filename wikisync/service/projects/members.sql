-- who is a member of a project: its own, of the groups above it, of those it is
-- shared with, and whose namespace it is in; each with the highest level
WITH RECURSIVE
above (id) AS (
    SELECT :group
    UNION
    SELECT n.parent_id FROM namespace n JOIN above a ON n.id = a.id
    WHERE n.parent_id IS NOT NULL
),
invited (id, level_max) AS (
    SELECT group_id, access_level FROM share
    WHERE project_id = :project AND (expires_on IS NULL OR expires_on > :today)
    UNION
    SELECT n.parent_id, i.level_max FROM namespace n JOIN invited i ON n.id = i.id
    WHERE n.parent_id IS NOT NULL
),
held (user_id, level) AS (
    SELECT user_id, access_level FROM membership
    WHERE kind = 'project' AND target_id = :project
      AND (expires_on IS NULL OR expires_on > :today)
    UNION ALL
    SELECT m.user_id, m.access_level FROM membership m JOIN above a
    ON m.kind = 'group' AND m.target_id = a.id
    WHERE m.expires_on IS NULL OR m.expires_on > :today
    UNION ALL
    SELECT m.user_id, min(m.access_level, i.level_max) FROM membership m
    JOIN invited i ON m.kind = 'group' AND m.target_id = i.id
    WHERE m.expires_on IS NULL OR m.expires_on > :today
    UNION ALL
    SELECT user_id, :owner FROM namespace
    WHERE id = :group AND user_id IS NOT NULL
)
SELECT u.*, max(h.level) AS level FROM held h JOIN user u ON u.id = h.user_id
WHERE instr(fold_search(u.username, u.name, NULL), :search) GROUP BY u.id ORDER BY u.id
