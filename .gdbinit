# SPDX-License-Identifier: BSD-3-Clause
# gdb printers: `source .gdbinit`, then e.g. `nexthop 12`, `iface 1`, `ip4 0x0100000a`
define ip4
  printf "%d.%d.%d.%d\n", $arg0 & 0xff, ($arg0 >> 8) & 0xff, ($arg0 >> 16) & 0xff, ($arg0 >> 24) & 0xff
end
document ip4
ip4 WORD: an IPv4 address in network byte order, dotted
end
define nexthop
  print nexthop_table[$arg0]
end
document nexthop
nexthop ID: the entry a FIB leaf leads to
end
define iface
  print iface_table[$arg0]
end
document iface
iface ID: an interface as forwarders see it
end
define drops
  set $slot = 0
  while $slot < 8
    if counter_block_table
      print counter_block_table[$slot].drop
    end
    set $slot = $slot + 1
  end
end
document drops
drops: drop counters of the first thread slots
end
