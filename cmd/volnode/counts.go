package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

// allConditions lists the states of volumes, best first.
var allConditions = []engine.Condition{
	engine.Ready, engine.Degraded, engine.Working, engine.Waiting, engine.Uncertain, engine.Blocked, engine.Stuck,
	engine.Gone,
}

// pluginState is a pair of labels of volume_manager_total_volumes.
type pluginState struct{ plugin, state string }

// counts are the numbers in a status.
type counts struct {
	volumes     map[pluginState]int
	states      map[engine.Condition]int // of the volumes of pods
	uncertain   map[string]bool          // by volume, or by rung where a rung has none
	oldestStuck time.Duration
}

func count(s engine.Status) counts {
	c := counts{volumes: map[pluginState]int{}, states: map[engine.Condition]int{}, uncertain: map[string]bool{}}
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			c.states[v.State]++
			if p.Wanted {
				c.volumes[pluginState{pluginOfVolume(v), "desired_state_of_world"}]++
			}
		}
	}
	for _, r := range s.Rungs {
		if r.Pod != "" && r.Actual != "Absent" {
			c.volumes[pluginState{pluginOf(r.Key), "actual_state_of_world"}]++
		}
		switch r.State {
		case engine.Uncertain:
			c.uncertain[orKey(r)] = true
		case engine.Stuck:
			c.oldestStuck = max(c.oldestStuck, r.Age)
		default: // nothing that is counted
		}
	}
	return c
}

// pluginOfVolume is the plugin of a volume; one that is blocked has no rung that would tell.
func pluginOfVolume(v engine.VolumeStatus) string {
	if len(v.Keys) == 0 {
		return "unknown"
	}
	return pluginOf(v.Keys[0])
}

// volumeSources are those that volnode serves.
var volumeSources = kinds.All()

// pluginOf is the kubelet's name of the plugin that has a rung. The key of a rung begins with its kind.
func pluginOf(key hal.Key) string {
	kind, _, _ := strings.Cut(string(key), "/")
	name, _ := volumeSources.Plugin(core.Kind(kind))
	return name
}

func orKey(r engine.RungStatus) string {
	if r.Volume != "" {
		return r.Volume
	}
	return string(r.Key)
}

// summary is the counts in one line: "3 volumes: 2 Ready, 1 Stuck".
func (c counts) summary() string {
	total := 0
	var parts []string
	for _, state := range allConditions {
		if n := c.states[state]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	text := plural(total, "volume")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// areSettled says whether nothing becomes of any volume without a line in the log. A volume that is Blocked becomes
// Stuck in silence once its pod is removed.
func (c counts) areSettled() bool {
	for state, n := range c.states {
		if n > 0 && state != engine.Ready && state != engine.Degraded {
			return false
		}
	}
	return true
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// driverNames are the names of all drivers, sorted. A plugin that has not said who it is has none.
func driverNames(drivers []engine.DriverStatus) []string {
	var names []string
	for _, d := range drivers {
		if d.Name != "" {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// driverNamed is the row of a driver that serves, or else any row of it, and the number of those that wait.
func driverNamed(drivers []engine.DriverStatus, name string) (row engine.DriverStatus, waiting int) {
	for _, d := range drivers {
		if d.Name != name {
			continue
		}
		if d.Waiting {
			waiting++
		}
		if d.Registered || row.Name == "" {
			row = d
		}
	}
	return row, waiting
}

func asHALError(err error) (*hal.Error, bool) { return errors.AsType[*hal.Error](err) }

// plurally is the form of a verb for n of something.
func plurally(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
