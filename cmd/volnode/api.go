package main

import (
	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/hal"
)

// What goes over the control socket: HTTP, with JSON as below. All of it is for the same version on both ends.

// failureAnswer is the body of an answer that is not 200.
type failureAnswer struct {
	Error string `json:"error"`
}

// statusAnswer is the engine's status, with what the daemon around it has to tell.
type statusAnswer struct {
	engine.Status
	Sinks []sinkState `json:"sinks,omitempty"` // those that have lost something, or are in trouble
	Notes []string    `json:"notes,omitempty"` // what somebody may not have meant, and no volume waits for
}

// planStep is one operation that is to come.
type planStep struct {
	Verb   string      `json:"verb"` // look, setup, refresh, tear down
	Rung   hal.Key     `json:"rung"`
	Kind   core.Kind   `json:"kind"`
	Pod    core.PodUID `json:"pod,omitempty"`
	Name   string      `json:"name,omitempty"` // of the pod, namespace/name
	Volume string      `json:"volume,omitempty"`
}

// waitAnswer says how a wait ended.
type waitAnswer struct {
	IsMet bool `json:"met"`
	// Message says in one line what is missing; "" if nothing is.
	Message string `json:"message,omitempty"`
	// Left is what the wait was still waiting for; nil if nothing.
	Left *engine.Status `json:"left,omitempty"`
}

// Conditions of a wait.
const (
	forReady = "ready"
	forGone  = "gone"
)

// describeAnswer is what is known of one pod, volume or rung.
type describeAnswer struct {
	Pods []engine.PodStatus `json:"pods,omitempty"`
	// Sources are the troubles that concern the pod: what is wrong with its manifest, and what counts meanwhile.
	Sources []engine.SourceTrouble `json:"sources,omitempty"`
	Rungs   []engine.RungStatus    `json:"rungs"`
	// Drivers has one entry for each socket that registers the driver.
	Drivers []engine.DriverStatus `json:"drivers,omitempty"`
	// Deletions are those of the pod's data, oldest first; of a pod that is gone, too.
	Deletions []deletions.Entry `json:"deletions,omitempty"`
}
