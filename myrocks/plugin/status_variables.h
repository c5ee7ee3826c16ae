// What SHOW STATUS LIKE 'zenfs%' shows of a mounted volume.
#pragma once

#include "plugin_interface.h"
#include "volume/volume.h"

namespace zenfs::myrocks {

// Makes `shown` an array of the variables below the name that it has ("Zenfs" -> "Zenfs_live_bytes"). The array belongs to
// the calling thread and is valid until its next call. Threads: any.
void ShowVolume(const Volume& volume, st_mysql_show_var& shown);

// The same without a volume: no variables.
void ShowNothing(st_mysql_show_var& shown);

}  // namespace zenfs::myrocks
