-- a fork is no import: it has no type
UPDATE project SET import_type = NULL WHERE import_type = 'gitlab_project_fork';
