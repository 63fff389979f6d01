"""Problems whose rows stay with Dask: the only folder that imports it, and only when a collection comes in."""
