package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file says what a driver that is not there keeps from going on.

// reached replaces what the host says of a call that was not sent, for want of its driver, by what people can do. What
// else has failed stays.
func (r *registry) reached(v core.View, why string) string {
	call, rest, _ := strings.Cut(why, ": ") // what a driver has said comes behind a code
	isUnsent, d := strings.HasPrefix(rest, hal.NotSent), r.byName[v.Actor]
	if !isUnsent || v.Actor == "" || d != nil && d.isConnected {
		return why
	}
	lack := ""
	if d == nil || d.by == nil {
		lack = plugin.Unregistered(v.Actor, r.registered())
	} else {
		lack = "driver " + v.Actor + " is registered, but volnode cannot reach it: " + reachAgain(d.by.why)
	}
	why = call + ": " + hal.NotSent
	if _, more, has := strings.Cut(rest, "; "); has {
		return why + "; " + more + "; " + lack
	}
	return why + ": " + lack
}

// away are the drivers that no socket registers, though volumes of theirs are up, or may be.
func (r *registry) away(views []core.View) (rows []DriverStatus) {
	volumes := map[string]map[string]bool{}
	for _, v := range views {
		isThere := slices.ContainsFunc(r.sockets, func(s *socket) bool { return s.info.Name == v.Actor })
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
		rows = append(rows, DriverStatus{Name: name, Why: plugin.Unregistered(name, r.registered()) + "; " + left})
	}
	return rows
}

// status is the drivers of all sockets.
func (r *registry) status() []DriverStatus {
	out, now := []DriverStatus{}, r.h.Runtime.Now()
	for _, s := range r.sockets {
		row := DriverStatus{
			Name: s.info.Name, Socket: s.path, Endpoint: s.endpoint, Why: s.why,
			ActsAfterReply: r.actsAfterReply(s.info.Name),
		}
		d := r.byName[s.info.Name]
		switch {
		case d == nil:
		case d.by == s:
			row.Registered, row.Connected, row.NodeID, row.LastAnswer = true, d.isConnected, d.facts.NodeID,
				d.answer.text()
			row.Since = now.Sub(d.since)
			row.LastAnswerAge = now.Sub(d.answer.at)
			if !d.isConnected {
				row.Why = reachAgain(row.Why)
			}
		case d.by != nil:
			row.Waiting, row.Since = true, now.Sub(s.since)
			row.Why = "waits: " + d.by.path + " serves " + d.name +
				"; it takes over if that socket is removed or its driver does not answer"
		}
		out = append(out, row)
	}
	return out
}

// reachAgain says why a registered driver is not connected, and what comes next.
func reachAgain(why string) string {
	if why == "" {
		return "connection lost; volnode connects again"
	}
	return why + "; volnode connects again within " + reconnectMax.String()
}

// actsAfterReply reports whether no answer of a driver ends a call.
func (r *registry) actsAfterReply(driver string) bool {
	return r.cfg.driver(driver).ActsAfterReply || r.core != nil && r.core.ActsAfterReply(driver)
}
