"""Written by ``make stubs``."""
from wikisync.api import blocking as blocking
from wikisync.api.client import Client as Client
from wikisync.api.client import Listing as Listing
from wikisync.api.projects import Deletion as Deletion
from wikisync.api.projects import Projects as Projects
from wikisync.api.projects import Toggle as Toggle
from wikisync.api.settings import ClientSettings as ClientSettings
from wikisync.api.wikis import PageList as PageList
from wikisync.api.wikis import Wiki as Wiki
from wikisync.contract.project_schema import ProjectRecord as ProjectRecord
from wikisync.contract.schema import AttachmentRecord as AttachmentRecord
from wikisync.contract.schema import CommentRecord as CommentRecord
from wikisync.contract.schema import CurrentUserRecord as CurrentUserRecord
from wikisync.contract.schema import GroupRecord as GroupRecord
from wikisync.contract.schema import TokenRecord as TokenRecord
from wikisync.contract.schema import UserRecord as UserRecord
from wikisync.contract.schema import VersionRecord as VersionRecord
from wikisync.contract.schema import WikiPageRecord as WikiPageRecord
from wikisync.core.model import Format as Format
from wikisync.core.model import WikiOwner as WikiOwner
from wikisync.errors import AuthenticationFailed as AuthenticationFailed
from wikisync.errors import NotFound as NotFound
from wikisync.errors import PermissionDenied as PermissionDenied
from wikisync.errors import ProtocolViolation as ProtocolViolation
from wikisync.errors import RateLimited as RateLimited
from wikisync.errors import Rejected as Rejected
from wikisync.errors import RemoteError as RemoteError
from wikisync.errors import Unavailable as Unavailable
from wikisync.errors import UsageError as UsageError
from wikisync.errors import WikisyncError as WikisyncError
from wikisync.library import clone as clone

__all__ = ['Client', 'Listing', 'Deletion', 'Projects', 'Toggle', 'ClientSettings', 'PageList', 'Wiki', 'ProjectRecord', 'AttachmentRecord', 'CommentRecord', 'CurrentUserRecord', 'GroupRecord', 'TokenRecord', 'UserRecord', 'VersionRecord', 'WikiPageRecord', 'Format', 'WikiOwner', 'AuthenticationFailed', 'NotFound', 'PermissionDenied', 'ProtocolViolation', 'RateLimited', 'Rejected', 'RemoteError', 'Unavailable', 'UsageError', 'WikisyncError', 'clone']
