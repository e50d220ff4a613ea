"""Templates that a new project can begin with, by the names the service knows.

Pure.  The real service copies a whole example application.  Here a template is a
README that names it, in one commit: enough for a client to see every step of such
a creation, and nothing of anybody else's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "android": "Android",
        "astro": "Astro",
        "astro_tailwind": "Astro Tailwind",
        "bridgetown": "Bridgetown",
        "cluster_management": "Cluster Management",
        "docusaurus": "Docusaurus",
        "dotnetcore": ".NET Core",
        "express": "Node.js Express",
        "gatsby": "Gatsby",
        "gitbook": "GitBook",
        "gitlab_components": "CI/CD components",
        "gitpod_spring_petclinic": "Spring Petclinic",
        "gomicro": "Go Micro",
        "hexo": "Hexo",
        "hugo": "Hugo",
        "iosswift": "iOS (Swift)",
        "jekyll": "Jekyll",
        "jsonnet": "Jsonnet for dynamic child pipelines",
        "kotlin_native_linux": "Kotlin Native Linux",
        "laravel": "Laravel",
        "middleman": "Middleman",
        "nextjs": "Next.js",
        "nfgitbook": "GitBook with Netlify",
        "nfhexo": "Hexo with Netlify",
        "nfhugo": "Hugo with Netlify",
        "nfjekyll": "Jekyll with Netlify",
        "nfplainhtml": "Plain HTML with Netlify",
        "nist_80053r5": "NIST 800-53r5",
        "nuxt": "Nuxt",
        "pelican": "Pelican",
        "plainhtml": "Plain HTML",
        "rails": "Ruby on Rails",
        "salesforcedx": "SalesforceDX",
        "sample": "Sample project",
        "serverless_framework": "Serverless Framework",
        "spring": "Spring",
        "sse_middleman": "Middleman with a static site editor",
        "tencent_serverless_framework": "Tencent Serverless Framework",
        "typo3_distribution": "TYPO3 Distribution",
    }
)
"""Name to title: what any version of the service has had, because clients ask for
the templates of theirs."""

COMMIT_MESSAGE = "Initialized from the project template"


def template_files(name: str, project_name: str) -> Mapping[str, bytes]:
    """What a project made from a built-in template begins with, by path."""
    text = (
        f"# {project_name}\n\n"
        f"This project was made from the template {BUILT_IN[name]} (`{name}`).\n"
    )
    return {"README.md": text.encode()}
