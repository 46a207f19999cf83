"""The style of figures and of the report: colors, and SVG inside a page.

===========  ===============================================================================
``palette``  colors by name, for light and dark screens, and colors and markers of clusters
``figures``  the style of figures on a page, and SVG inside a page
===========  ===============================================================================
"""
