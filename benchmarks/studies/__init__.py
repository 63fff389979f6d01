"""Studies: questions that were settled once; the results are kept on the page of studies."""
