"""The kinds of sources: a folder or a file on this machine, a git repository, and a site. The files in reading order:

1. `opened_source` tells the kinds apart and gives the files of each; a repository is cloned.
2. `site` fetches the pages of a site: `site_client` sends the requests, `page_links` says which pages come next.
"""
