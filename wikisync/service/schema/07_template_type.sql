-- the name that the real service gives a project made of a built-in template
UPDATE project SET import_type = 'gitlab_built_in_project_template'
    WHERE import_type = 'gitlab_project';
