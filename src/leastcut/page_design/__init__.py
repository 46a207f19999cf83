"""How pages and pictures look: colours, letters, numbers as text, and the sheet of styles.

==============  ==========================================================================
``palette``     colours by name, for light and dark, and those of clusters, with their signs
``numbers``     numbers of any size as short text
``figures``     how figures on a page are set, and SVG that stands inside a page
``templating``  templates of pages, with the sheet of styles that they share
==============  ==========================================================================

The paper's page and the report of an answer both take their looks from here.
"""
