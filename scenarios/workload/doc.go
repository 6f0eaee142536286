// Package workload is what happens to a world: objects and manifests are edited, people and others meddle with what is
// the agent's, disks fail, drivers restart. A hunt draws it, and statements of a scenario tell it.
package workload
