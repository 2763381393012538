"""Search path of programs on nodes: the folders of packages only.

A file in /usr/local/bin can have the name of a program, and sudo's own path finds it first. A measurement or a change
would then run it. Such files are unmanaged things of the plan.
"""

PROGRAM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
