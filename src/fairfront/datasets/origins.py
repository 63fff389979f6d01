"""Public origins: where the files of each data set are published, what they must be, and on which terms."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..registry import Registry


@dataclass(frozen=True)
class PublicFile:
    """Describe one published file.

    Parameters
    ----------
    name : str
        File name, here and in the cache.
    size : int
        Bytes.
    sha256 : str
        Checksum of the file as published.
    urls : tuple of str
        Addresses, tried in this order; empty for a file that comes out of an archive.
    """

    name: str
    size: int
    sha256: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Origin:
    """Describe where a data set comes from and what it holds, without loading it.

    Parameters
    ----------
    name : str
        Name in the registry of data sets.
    page : str
        Page on which people read about the data set; empty where the data are part of the package.
    rows : int
        Rows that the loader returns by default.
    terms : str
        Licence or terms in a few words.
    target : str
        Column to predict, by default.
    groups : tuple of str
        Sensitive columns.
    files : tuple of PublicFile
        Files that the loader reads; empty where the data are part of the package.
    archive : PublicFile, optional
        Archive that holds ``files``, where they are not published one by one.
    csv_id : str
        Name of a column of identifiers in the CSV file of the data set; empty for none.
    csv_columns : tuple of str
        Columns of the CSV file that are neither features nor groups nor target.
    """

    name: str
    page: str
    rows: int
    terms: str
    target: str
    groups: tuple[str, ...]
    files: tuple[PublicFile, ...] = field(default=(), repr=False)
    archive: PublicFile | None = field(default=None, repr=False)
    csv_id: str = ""
    csv_columns: tuple[str, ...] = ()

    @property
    def embedded(self) -> bool:
        """Say whether the data are part of the package."""
        return not self.files

    @property
    def file_names(self) -> tuple[str, ...]:
        """Return the names of the files that the loader reads."""
        return tuple(file.name for file in self.files)

    @property
    def downloads(self) -> tuple[PublicFile, ...]:
        """Return what has to be downloaded: the archive, or every file."""
        return self.files if self.archive is None else (self.archive,)


ORIGINS: Registry[Origin] = Registry("data set")
