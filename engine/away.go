package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	csiplugin "github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
)

// This file says what a driver that is not there keeps from going on.

// reached replaces what the host says of a call that was not sent, for want of its driver, by what people can do.
func (m *VolumeManager) reached(v core.View, why string) string {
	call, rest, _ := strings.Cut(why, ": ") // what a driver has said comes behind a code
	isUnsent, d := strings.HasPrefix(rest, hal.NotSent), m.drivers.byName[v.Actor]
	switch {
	case !isUnsent || v.Actor == "" || d != nil && d.isConnected:
		return why
	case d == nil || d.by == nil:
		return call + ": " + hal.NotSent + ": " + csiplugin.Unregistered(v.Actor, m.drivers.registered())
	}
	return call + ": " + hal.NotSent + ": driver " + v.Actor + " is registered, but volnode cannot reach it: " +
		reachAgain(d.by.why)
}

// awayDrivers are the drivers that no socket registers, though volumes of theirs are up, or may be.
func (m *VolumeManager) awayDrivers(views []core.View) (rows []DriverStatus) {
	volumes := map[string]map[string]bool{}
	for _, v := range views {
		isThere := slices.ContainsFunc(m.drivers.sockets, func(s *socket) bool { return s.info.Name == v.Actor })
		if v.Actor == "" || v.IsGone || v.State == core.Absent && v.SetUpOpen == 0 || isThere {
			continue
		}
		if volumes[v.Actor] == nil {
			volumes[v.Actor] = map[string]bool{}
		}
		volumes[v.Actor][v.Volume] = true
	}
	for _, name := range slices.Sorted(maps.Keys(volumes)) {
		left := "one of its volumes may be up"
		if n := len(volumes[name]); n > 1 {
			left = itoa(n) + " of its volumes may be up"
		}
		rows = append(rows, DriverStatus{Name: name, Why: csiplugin.Unregistered(name, m.drivers.registered()) +
			"; " + left})
	}
	return rows
}
