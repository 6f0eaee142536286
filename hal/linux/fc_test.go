package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

func TestPortsAreReadFromSysfs(t *testing.T) {
	const ports = "class/fc_remote_ports/"
	sys := sysfs(t, nil, map[string]string{
		"class/fc_host/host11/port_name": "0x200002fc00000001", "class/fc_host/host11/port_state": "Linkdown",
		"class/fc_host/host2/port_name": "0x100002fc00000001", "class/fc_host/host2/port_state": "Online",
		"class/fc_host/host3/port_name": "0x0", "class/fc_host/host3/port_state": "Online", // it has no name yet
		ports + "rport-2:0-0/port_name": "0x200002fc00000102", ports + "rport-2:0-0/port_state": "Online",
		ports + "rport-2:0-0/scsi_target_id": "-1",
		ports + "rport-2:0-7/port_name":      "0x200002fc00000202", ports + "rport-2:0-7/port_state": "Not Present",
		ports + "rport-2:0-7/scsi_target_id": "3",
		ports + "rport-2:1-9/port_name":      "0xf00002fc00000302", ports + "rport-2:1-9/port_state": "Blocked",
		ports + "rport-2:1-9/scsi_target_id": "0",
		ports + "rport-2:0-8/port_name":      "0x200002fc00000402", // it is gone by now
	})
	hosts, err := fcHostsIn(sys)
	require.NoError(t, err)
	require.Equal(t, []hal.FCHost{
		{Host: 2, Name: 0x100002fc00000001, State: "Online"}, {Host: 11, Name: 0x200002fc00000001, State: "Linkdown"},
	}, hosts)
	all, err := fcPortsIn(sys)
	require.NoError(t, err)
	require.Equal(t, []hal.FCRemotePort{
		{Host: 2, Name: 0x200002fc00000202, State: "Not Present", IsTarget: true, Target: 3},
		{Host: 2, Name: 0xf00002fc00000302, State: "Blocked", IsTarget: true, Channel: 1},
		{Host: 2, Name: 0x200002fc00000102, State: "Online"},
	}, all)
	require.Equal(t, "200002fc00000202", all[0].Name.String())
	require.Equal(t, "2:1:0:5", all[1].At(5).String())
	require.True(t, all[2].IsUp())
}

func TestANodeWithoutFibreChannelHasNoPorts(t *testing.T) {
	hosts, err := fcHostsIn(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, hosts)
	ports, err := fcPortsIn(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, ports)
}
