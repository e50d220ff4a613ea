"""``wikisync.toml`` as frozen sections.

``parse_config`` is pure and reports every problem at once, each with its key path, its
value and the nearest right name.  Commands follow a flag, the environment, this file
and the default, in that order.  No section holds a token: the file is shared and
committed, so it may only say where a token comes from, and a value that could be one is
never repeated in an error.
"""

from wikisync.config.reading import load_config as load_config
from wikisync.config.reading import parse_config as parse_config
from wikisync.config.reading import parse_markup as parse_markup
from wikisync.config.sections import FILE_NAME as FILE_NAME
from wikisync.config.sections import AsciidocEngine as AsciidocEngine
from wikisync.config.sections import Config as Config
from wikisync.config.sections import MarkdownEngine as MarkdownEngine
from wikisync.config.sections import MarkupSection as MarkupSection
from wikisync.config.sections import MathOutput as MathOutput
from wikisync.config.sections import OptionValue as OptionValue
from wikisync.config.sections import PreviewSection as PreviewSection
from wikisync.config.sections import ServiceSection as ServiceSection
from wikisync.config.sections import SiteSection as SiteSection
from wikisync.config.sections import SyncSection as SyncSection
from wikisync.config.sections import WikiSection as WikiSection
