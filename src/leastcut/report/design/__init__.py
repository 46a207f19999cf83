"""The style of figures and of the report: colors, numbers as text, and SVG inside a page.

===========  ===============================================================================
``palette``  colors by name, for light and dark screens, and colors and markers of clusters
``numbers``  numbers of any size as short text
``figures``  the style of figures on a page, and SVG inside a page
===========  ===============================================================================
"""
