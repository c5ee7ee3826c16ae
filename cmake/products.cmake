# What is installed: the plugin and the command.
include(plugin OPTIONAL)
include(cli OPTIONAL)
if(COMMAND zenfs_add_plugin)
  zenfs_add_plugin()
endif()
if(COMMAND zenfs_add_cli)
  zenfs_add_cli()
endif()
