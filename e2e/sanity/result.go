package main

import (
	"fmt"
	"io"
)

// outcome is how one spec ended.
type outcome string

const (
	passed  outcome = "passed"
	failed  outcome = "failed"
	skipped outcome = "skipped"
)

// spec is one spec of a suite.
type spec struct {
	Text    string
	Outcome outcome
	Reason  string // why it failed or was skipped
}

// result is what a child hands to its parent.
type result struct {
	Suite    string
	Specs    []spec
	Problems []string // what went wrong outside the specs
}

func (r *result) problem(err error) {
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
}

func (r result) count(o outcome) int {
	n := 0
	for _, s := range r.Specs {
		if s.Outcome == o {
			n++
		}
	}
	return n
}

func (r result) ok() bool { return len(r.Problems) == 0 && r.count(failed) == 0 && r.count(passed) > 0 }

func (r result) summary() string {
	line := fmt.Sprintf("sanity %s: %d passed, %d failed, %d skipped", r.Suite,
		r.count(passed), r.count(failed), r.count(skipped))
	for _, p := range r.Problems {
		line += "\n  problem: " + p
	}
	return line
}

func (r result) printSkipped(w io.Writer) {
	fmt.Fprintf(w, "skipped in %s:\n", r.Suite)
	for _, s := range r.Specs {
		if s.Outcome == skipped {
			fmt.Fprintf(w, "  %s\n      lacks: %s\n", s.Text, lackOf(s.Reason))
		}
	}
}

// pendingReason stands for the specs that csi-test itself has switched off.
const pendingReason = "nothing: csi-test has switched this spec off"

// lacks names the capability behind each reason that csi-test gives for skipping.
var lacks = map[string]string{
	"ControllerGetVolumeHealth not supported":  "controller capability GET_VOLUME_HEALTH",
	"ControllerListVolumeHealth not supported": "controller capability LIST_VOLUME_HEALTH",
	"ControllerModifyVolume not supported":     "controller capability MODIFY_VOLUME",
	"CreateSnapshot not supported":             "controller capability CREATE_DELETE_SNAPSHOT",
	"DeleteSnapshot not supported":             "controller capability CREATE_DELETE_SNAPSHOT",
	"GetSnapshot not supported":                "controller capability GET_SNAPSHOT",
	"GroupControllerService not supported":     "plugin capability GROUP_CONTROLLER_SERVICE",
	"ListSnapshots not supported":              "controller capability LIST_SNAPSHOTS",
	"Modify Volume not supported":              "controller capability MODIFY_VOLUME",
	"Modify volume not supported":              "controller capability MODIFY_VOLUME",
	"NodeGetStorageHealth not supported":       "node capability GET_STORAGE_HEALTH",
	"NodeGetVolumeHealth not supported":        "node capability GET_VOLUME_HEALTH",
	"NodeStageVolume not supported":            "node capability STAGE_UNSTAGE_VOLUME",
	"NodeUnstageVolume not supported":          "node capability STAGE_UNSTAGE_VOLUME",
	"Snapshot not supported":                   "controller capability CREATE_DELETE_SNAPSHOT",
	"Volume Cloning not supported":             "controller capability CLONE_VOLUME",
	"VolumeGroupSnapshots not supported":       "group controller capability for volume group snapshots",
}

// lackOf falls back to csi-test's own words.
func lackOf(reason string) string {
	if capability, known := lacks[reason]; known {
		return capability
	}
	return reason
}
