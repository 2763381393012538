"""Small invented outputs of InfiniBand tools."""

from __future__ import annotations

import json

IBNETDISCOVER = """\
#
# Topology file: generated on Sat Nov 28 04:20:14 2026
#
# Initiated from node 0200000000000010 port 0200000000000010

vendid=0x2c9
devid=0xd2f2
sysimgguid=0x200000000000001
switchguid=0x200000000000001(200000000000001)
Switch\t4 "S-0200000000000001"\t\t# "leaf1" enhanced port 0 lid 2 lmc 0
[1]\t"H-0200000000000010"[1](200000000000010) \t\t# "n1 mlx5_0" lid 3 4xNDR
[2]\t"H-0200000000000020"[1](200000000000020) \t\t# "n2 mlx5_0" lid 4 4xHDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x200000000000010
caguid=0x200000000000010
Ca\t1 "H-0200000000000010"\t\t# "n1 mlx5_0"
[1](200000000000010) \t"S-0200000000000001"[1]\t\t# lid 3 lmc 0 "leaf1" lid 2 4xNDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x200000000000020
caguid=0x200000000000020
Ca\t1 "H-0200000000000020"\t\t# "n2 mlx5_0"
[1](200000000000020) \t"S-0200000000000001"[2]\t\t# lid 4 lmc 0 "leaf1" lid 2 4xHDR
"""
IBNETDISCOVER_P = """\
CA     3  1 0x0200000000000010 4x NDR - SW     2  1 0x0200000000000001 ( 'n1 mlx5_0' - 'leaf1' )
SW     2  3 0x0200000000000001 4x ???                                    'leaf1'
SW     2  1 0x0200000000000001 4x NDR - CA     3  1 0x0200000000000010 ( 'leaf1' - 'n1 mlx5_0' )
SW     2  2 0x0200000000000001 4x HDR - CA     4  1 0x0200000000000020 ( 'leaf1' - 'n2 mlx5_0' )
CA     4  1 0x0200000000000020 4x HDR - SW     2  2 0x0200000000000001 ( 'n2 mlx5_0' - 'leaf1' )
"""
IBLINKINFO = """\
CA: n1 mlx5_0:
      0x0200000000000010      3    1[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>       2    1[  ] "leaf1" ( )
Switch: 0x0200000000000001 leaf1:
           2    1[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>       3    1[  ] "n1 mlx5_0" ( )
           2    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           2    3[  ] ==( 4X        53.125 Gbps Initialize/  LinkUp)==>       4    1[  ] "n2 mlx5_0" (Could be NDR )
"""
IBQUERYERRORS = """\
Errors for 0x200000000000001 "leaf1"
   GUID 0x200000000000001 port ALL: [SymbolErrorCounter == 120] [LinkDownedCounter == 3]
   GUID 0x200000000000001 port 2: [SymbolErrorCounter == 120] [LinkDownedCounter == 3]
       Link info:      2   2[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==> 0x0200000000000020 4 1[  ] "n2 mlx5_0" ( )

## Summary: 3 nodes checked, 1 bad nodes found
##          6 ports checked, 1 ports have errors beyond threshold
## Thresholds:
## Suppressed:
"""
MLNX_QOS = """\
Priority trust state: dscp
dscp2prio mapping:
\tprio:3 dscp:31,30,29,28,27,26,25,24,
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
"""
ETHTOOL = "NIC statistics:\n     rx_prio3_discards: 0\n     rx_discards_phy: 2\n"
IBV_DEVINFO = "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tlink_layer:\t\tEthernet\n"
PERFQUERY = """\
# Port extended counters: Lid 2 port 1 (CapMask: 0x5300 CapMask2: 0x0000002)
PortSelect:......................1
CounterSelect:...................0x0000
SymbolErrorCounter:..............0
LinkErrorRecoveryCounter:........0
LinkDownedCounter:...............1
VL15Dropped:.....................0
PortXmitWait:....................22730501
QP1Dropped:......................0
"""
SMINFO = "sminfo: sm lid 1 sm guid 0x2000000000000ff, activity count 351 priority 14 state 3 SMINFO_MASTER\n"
SMIR = """\
SMInfoRecord dump:
\t\tRID
\t\tLID...................1
\t\tSMInfo dump:
\t\tGUID..................0x02000000000000ff
\t\tSM_Key................0x0000000000000000
\t\tActCount..............352
\t\tPriority..............14
\t\tSMState...............3
SMInfoRecord dump:
\t\tRID
\t\tLID...................9
\t\tSMInfo dump:
\t\tGUID..................0x02000000000000fe
\t\tSM_Key................0x0000000000000000
\t\tActCount..............352
\t\tPriority..............13
\t\tSMState...............2
"""
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.41.1000
\tHardware version: 0
\tNode GUID: 0x0200000000000010
\tSystem image GUID: 0x0200000000000010
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 3
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa651e848
\t\tPort GUID: 0x0200000000000010
\t\tLink layer: InfiniBand
"""
MLXLINK = """\

Operational Info
----------------
State                              : Active
Physical state                     : LinkUp
Speed                              : IB-NDR
Width                              : 4x
FEC                                : Standard_RS-FEC - (544,514)

Troubleshooting Info
--------------------
Status Opcode                      : 0
Recommendation                     : No issue was observed

Module Info
-----------
Vendor Name                        : Example
Vendor Part Number                 : MCP4Y10-N00A
Vendor Serial Number               : MT0000X00000

Physical Counters and BER Info
------------------------------
Time Since Last Clear [Min]        : 1200.1
Effective Physical Errors          : 0
Effective Physical BER             : 15E-255
Raw Physical Errors Per Lane       : 12,9,30,7
Raw Physical BER                   : 4E-8
Link Down Counter                  : 2
"""
MLXLINK_JSON = json.dumps(
    {
        "result": {
            "output": {
                "Operational Info": {
                    "State": "Active",
                    "Physical state": "LinkUp",
                    "Speed": "IB-NDR",
                    "Width": "4x",
                },
                "Troubleshooting Info": {"Recommendation": "No issue was observed"},
                "Module Info": {"Vendor Part Number": "MCP4Y10-N00A", "Vendor Serial Number": "MT0000X00000"},
                "Physical Counters and BER Info": {
                    "Effective Physical Errors": "0",
                    "Effective Physical BER": "15E-255",
                    "Raw Physical Errors Per Lane": {"values": ["12", "9", "30", "7"]},
                    "Raw Physical BER": "4E-8",
                    "Link Down Counter": "2",
                },
            }
        },
        "status": {"code": 0, "message": "success"},
    },
    indent=1,
)
