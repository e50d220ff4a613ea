-- levels of one user everywhere: memberships in groups are inherited downwards,
-- knowledge of a group upwards
WITH RECURSIVE
held (id, level) AS (
    SELECT target_id, access_level FROM membership
    WHERE user_id = :user AND kind = 'group'
      AND (expires_on IS NULL OR expires_on > :today)
    UNION
    SELECT n.id, h.level FROM namespace n JOIN held h ON n.parent_id = h.id
),
group_level (id, level) AS (SELECT id, max(level) FROM held GROUP BY id),
direct (id, level) AS (
    SELECT target_id, access_level FROM membership
    WHERE user_id = :user AND kind = 'project'
      AND (expires_on IS NULL OR expires_on > :today)
),
shared (id, level) AS (
    SELECT s.project_id, max(min(s.access_level, g.level))
    FROM share s JOIN group_level g ON g.id = s.group_id
    WHERE s.expires_on IS NULL OR s.expires_on > :today GROUP BY s.project_id
),
seen (id) AS (
    SELECT id FROM held
    UNION
    SELECT p.namespace_id FROM project p JOIN direct d ON d.id = p.id
    UNION
    SELECT n.parent_id FROM namespace n JOIN seen s ON n.id = s.id
    WHERE n.parent_id IS NOT NULL
)
